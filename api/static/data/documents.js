// Documents, by the routes of /data: CouchDB's shapes.

import { json, path, request, RequestError } from '../lib/http.js'

export const ASSISTANTS = 'io.cozy.ai.chat.assistants'
export const CONVERSATIONS = 'io.cozy.ai.chat.conversations'
export const EVENTS = 'io.cozy.ai.chat.events'
export const FILES = 'io.cozy.files'
export const JOBS = 'io.cozy.jobs'
export const MEMORIES = 'io.cozy.ai.memories'
export const STATUSES = 'io.cozy.ai.chat.rag'

const ATTEMPTS = 5
const PAGE = 1000

export function get(type, id) {
  return json('GET', `/data${path(type, id)}`)
}

/** The document with its new `_rev`; a new one where it had none. */
export async function put(type, doc) {
  const { data } = await json('PUT', `/data${path(type, doc._id)}`, { body: doc })
  return data
}

export async function create(type, doc) {
  const { data } = await json('POST', `/data${path(type)}/`, { body: doc })
  return data
}

export function remove(type, { _id, _rev }) {
  return request('DELETE', `/data${path(type, _id)}?rev=${encodeURIComponent(_rev)}`)
}

/** Writes what `change` makes of a fresh read: what others write at the same time is kept. */
export async function update(type, id, change) {
  for (let attempt = 1; ; attempt += 1) {
    const doc = await get(type, id)
    try {
      return await put(type, change(doc))
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 409 || attempt === ATTEMPTS) throw error
    }
  }
}

/** Whether two JSON values are the same, whatever the order of their keys: each route has its own. */
export function isSame(one, other) {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  const keys = Object.keys(one)
  return keys.length === Object.keys(other).length && keys.every((key) => isSame(one[key], other[key]))
}

/** A page of a Mango query: `{docs, next, bookmark}`. */
export function find(type, query) {
  return json('POST', `/data${path(type)}/_find`, { body: query })
}

export function defineIndex(type, fields) {
  return json('POST', `/data${path(type)}/_index`, { body: { index: { fields } } })
}

/** The documents of some ids that are there, by their id. What is no id, in a document that others wrote, names none. */
export async function many(type, ids) {
  const keys = [...new Set(ids)].filter((id) => id && typeof id === 'string')
  if (!keys.length) return new Map()
  const { rows } = await json('POST', `/data${path(type)}/_all_docs?include_docs=true`, { body: { keys } })
  return new Map(rows.filter((row) => row.doc).map((row) => [row.key, row.doc]))
}

export async function all(type) {
  const { rows } = await json('GET', `/data${path(type)}/_normal_docs?limit=${PAGE}`)
  return rows
}
