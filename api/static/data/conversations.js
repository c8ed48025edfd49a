// The list of the conversations, the one that changed last first. Their messages are read when one is opened.

import { CONVERSATIONS, defineIndex, find, get, remove, update } from './documents.js'

const PAGE = 40
const LONGEST = 200 // characters of a title: a first question may be a whole text
const BY_DATE = 'cozyMetadata.updatedAt'
const FIELDS = ['_id', 'name', 'messages.0.content', BY_DATE]

/** Dispatches 'change', and 'document' with each conversation that somebody saved (`detail`: `{doc, verb}`). */
export class Conversations extends EventTarget {
  #found = new Map()
  #bookmark = undefined
  #index = undefined
  next = false

  constructor(realtime) {
    super()
    realtime.subscribe(CONVERSATIONS, '', (doc, verb) => this.#take(doc, verb))
    realtime.keepLoaded(() => this.load())
  }

  get list() {
    return [...this.#found.values()].sort((a, b) => (a.date < b.date ? 1 : -1))
  }

  get(id) {
    return this.#found.get(id)
  }

  async load() {
    this.#bookmark = undefined
    const docs = await this.#page()
    this.#found = new Map(docs.map((doc) => [doc._id, summary(doc)]))
    this.dispatchEvent(new Event('change'))
  }

  async more() {
    for (const doc of await this.#page()) this.#found.set(doc._id, summary(doc))
    this.dispatchEvent(new Event('change'))
  }

  async #page() {
    const query = { selector: { [BY_DATE]: { $gt: null } }, sort: [{ [BY_DATE]: 'desc' }], fields: FIELDS, limit: PAGE }
    await this.#defineIndex()
    const { docs, next, bookmark } = await find(CONVERSATIONS, { ...query, bookmark: this.#bookmark })
    this.next = next
    this.#bookmark = bookmark
    return docs
  }

  /** Once; what failed is tried again the next time. */
  #defineIndex() {
    return (this.#index ??= defineIndex(CONVERSATIONS, [BY_DATE]).catch((error) => {
      this.#index = undefined
      throw error
    }))
  }

  rename(id, name) {
    return update(CONVERSATIONS, id, (doc) => ({ ...doc, name }))
  }

  async remove(id) {
    return remove(CONVERSATIONS, await get(CONVERSATIONS, id))
  }

  #take(doc, verb) {
    if (verb === 'DELETED') this.#found.delete(doc._id)
    else this.#found.set(doc._id, { ...this.#found.get(doc._id), ...summary(doc) })
    this.dispatchEvent(new Event('change'))
    this.dispatchEvent(new CustomEvent('document', { detail: { doc, verb } }))
  }
}

/** What the list shows; an event that was cut says only a part of it. */
function summary(doc) {
  const title = [doc.name, doc.messages?.[0]?.content].find((text) => text && typeof text === 'string')?.slice(0, LONGEST)
  const known = { id: doc._id, date: doc.cozyMetadata?.updatedAt, title }
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value))
}
