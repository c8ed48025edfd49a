// Files and folders, and what they are called.

import { json, path, request } from '../lib/http.js'
import { FILES, many } from './documents.js'

export const ROOT = 'io.cozy.files.root-dir'

const known = new Map() // id -> document, of folders: the same ones are asked for again and again

/** A new file in a folder: `{id, rev, ...attributes}`; `content` is a Blob or a text. Raises RequestError, 409 for a name that is taken. */
export async function add(dirId, name, content, type = content.type) {
  const url = `/files${path(dirId)}?Type=file&Name=${encodeURIComponent(name)}`
  return flat((await json('POST', url, { content, type: type || 'application/octet-stream' })).data)
}

export async function addDirectory(dirId, name) {
  const url = `/files${path(dirId)}?Type=directory&Name=${encodeURIComponent(name)}`
  return flat((await json('POST', url)).data)
}

/** The content, as a Blob. */
export async function download(id) {
  return (await request('GET', `/files/download${path(id)}`)).blob()
}

function flat({ id, meta, attributes }) {
  return { ...attributes, id, rev: meta.rev }
}

/** The documents of some files, by their ids, each with its `path`, and that of its `folder`. In two requests. */
export async function places(ids) {
  const files = await many(FILES, ids)
  const folders = await directories([...files.values()].map((file) => file.dir_id))
  return new Map([...files].map(([id, file]) => [id, placed(file, folders.get(file.dir_id)?.path ?? '')]))
}

/** Where the folder is not known, the path is not either. */
function placed(file, folder) {
  return { ...file, folder, path: folder && below(folder) + file.name }
}

/** What the paths of all that is below a folder begin with. */
export function below(folder) {
  return folder === '/' ? folder : `${folder}/`
}

/** The documents of some folders, by their ids. */
export async function directories(ids) {
  const unknown = ids.filter((id) => id && !known.has(id))
  for (const [id, doc] of await many(FILES, unknown)) known.set(id, doc)
  return new Map(ids.filter((id) => known.has(id)).map((id) => [id, known.get(id)]))
}

/** Folders change: what an event said of one counts. */
export function follow(realtime) {
  realtime.subscribe(FILES, '', (doc) => known.delete(doc._id))
}
