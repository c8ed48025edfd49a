// What the agent remembers, and what it would like to: kept equal to the database.

import { MEMORIES } from './documents.js'
import { json, path, request } from '../lib/http.js'

export const ACTIVE = 'active'
export const PENDING = 'pending'

/** Dispatches 'change'. What waits for the person is known from the beginning, what is active once it was asked for. */
export class Memories extends EventTarget {
  #found = new Map()
  #read = new Set([PENDING])

  constructor(realtime) {
    super()
    realtime.subscribe(MEMORIES, '', (doc, verb) => this.#take(doc, verb))
    realtime.keepLoaded(() => this.load())
  }

  /** The memories of a status, the newest first. */
  of(status) {
    return [...this.#found.values()].filter((memory) => memory.status === status).sort((a, b) => b.date.localeCompare(a.date))
  }

  async load(status) {
    if (status) this.#read.add(status)
    const lists = await Promise.all([...this.#read].map((one) => json('GET', `/api/memories?status=${one}`)))
    this.#found = new Map(lists.flatMap(({ data }) => data).map((resource) => [resource.id, memoryOf(resource.id, resource.attributes)]))
    this.dispatchEvent(new Event('change'))
  }

  approve(id) {
    return json('POST', `/api/memories${path(id)}/approve`)
  }

  reject(id) {
    return json('POST', `/api/memories${path(id)}/reject`)
  }

  rewrite(id, text) {
    return json('PATCH', `/api/memories${path(id)}`, { body: { text } })
  }

  remove(id) {
    return request('DELETE', `/api/memories${path(id)}`)
  }

  #take(doc, verb) {
    if (verb === 'DELETED') this.#found.delete(doc._id)
    else this.#found.set(doc._id, memoryOf(doc._id, doc))
    this.dispatchEvent(new Event('change'))
  }
}

function memoryOf(id, { text, status, confidence, source, cozyMetadata }) {
  return { id, text, status, confidence, source, date: String(cozyMetadata?.updatedAt ?? '') }
}
