// What is in the folders, and where these are.

import { FILES, JOBS, STATUSES, find, many } from './documents.js'
import { ROOT, directories } from './files.js'
import { json } from '../lib/http.js'

const BY_PARENT = 'dir-children' // needs both of its fields in the selector
const TRASH = 'io.cozy.files.trash-dir'
const TRASH_PATH = '/.cozy_trash'
const DEEPEST = 100 // folders: a tree in a circle has an end too
const INDEXING = { data: { attributes: { arguments: { doctype: FILES } } } }

/** A page of what is in a folder, `type` being 'file' or 'directory': `{docs, after, next}`, in the order of the ids. */
export async function children(dirId, type, limit, after = '') {
  const selector = { dir_id: dirId, _id: { $gt: after }, type }
  const { docs, next } = await find(FILES, { selector, use_index: BY_PARENT, limit })
  return { docs: docs.filter(isShown), after: docs.at(-1)?._id ?? after, next }
}

/** Whether people see a file or a folder there: not in the trash, nor the trash itself. */
export function isShown(doc) {
  return !doc.trashed && doc._id !== TRASH && !isInside(doc.path ?? '', TRASH_PATH)
}

/** Whether a path is a folder's own or below it, by whole segments. */
export function isInside(path, folder) {
  return path === folder || path.startsWith(`${folder.replace(/\/$/, '')}/`)
}

/** Those of some names that a folder has already. */
export async function taken(dirId, names) {
  const selector = { dir_id: dirId, _id: { $gt: '' }, name: { $in: names } }
  const { docs } = await find(FILES, { selector, use_index: BY_PARENT, limit: names.length })
  return new Set(docs.map((doc) => doc.name))
}

/** The folders from the first below the root to this one; none where one of them is gone. */
export async function lineage(id) {
  const chain = []
  for (let at = id; at !== ROOT; at = chain[0].dir_id) {
    const doc = (await directories([at])).get(at)
    if (!doc || chain.length === DEEPEST) return []
    chain.unshift(doc)
  }
  return chain
}

export function statuses(ids) {
  return many(STATUSES, ids)
}

/** A page of the statuses that say why a file is not indexed: `{docs, after, next}`. */
export async function objections(limit, after = '') {
  const objects = [{ status: { $in: ['error', 'notsupported'] } }, { duplicateOf: { $gt: '' } }]
  const { docs, next } = await find(STATUSES, { selector: { _id: { $gt: after }, $or: objects }, limit })
  return { docs, after: docs.at(-1)?._id ?? after, next }
}

/** The index follows what changed at once, not after its delay. */
export function indexNow() {
  return json('POST', '/jobs/queue/rag-index', { body: INDEXING })
}

/** The id of the job that is walking through a folder, if one is. */
export async function walkOf(dirId) {
  const { data } = await json('GET', '/jobs/queue/rag-index')
  return data.find((job) => job.attributes.arguments?.reconcile_dir_id === dirId)?.id
}

/** `handler(job, verb)` is called with what becomes of the jobs, and with how far they are (NOTIFIED). */
export function followJobs(realtime, handler) {
  return realtime.subscribe(JOBS, '', handler)
}
