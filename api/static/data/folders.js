// What is in the folders, and where these are.

import { FILES, JOBS, STATUSES, find, many } from './documents.js'
import { ROOT, below, directories } from './files.js'
import { json } from '../lib/http.js'
import { pattern } from '../lib/pattern.js'

const BY_PARENT = 'dir-children' // needs both of its fields in the selector
const TRASH = 'io.cozy.files.trash-dir'
const TRASH_PATH = '/.cozy_trash'
const DEEPEST = 100 // folders: a tree in a circle has an end too
const MOST_NAMES = 1000 // that differ by their numbers
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
  return path === folder || path.startsWith(below(folder))
}

/** A name, or with the first number that nothing in the folder has: `Plan.md`, `Plan (2).md`. */
export async function freeName(dirId, name) {
  const dot = name.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, '']
  const held = await namesLike(dirId, stem, ending)
  let free = name
  for (let number = 2; held.has(lower(free)); number += 1) free = `${stem} (${number})${ending}`
  return free
}

/** In lower case: not every computer keeps `a` and `A` apart. */
async function namesLike(dirId, stem, ending) {
  const name = { $regex: `^${pattern(stem)}( \\([0-9]+\\))?${pattern(ending)}$` }
  const selector = { dir_id: dirId, _id: { $gt: '' }, name }
  const { docs } = await find(FILES, { selector, use_index: BY_PARENT, fields: ['name'], limit: MOST_NAMES })
  return new Set(docs.map((doc) => lower(doc.name)))
}

function lower(name) {
  return name.normalize('NFC').toLowerCase()
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

/** The path of a folder; undefined where it, or one above it, is gone. */
export async function pathOf(id) {
  return id === ROOT ? '/' : (await lineage(id)).at(-1)?.path
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
