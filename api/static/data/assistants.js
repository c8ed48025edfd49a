// The assistants of the instance, kept equal to the database.

import { ASSISTANTS, FILES, all } from './documents.js'

/** Dispatches 'change'. */
export class Assistants extends EventTarget {
  #docs = new Map()
  isLoaded = false

  constructor(realtime) {
    super()
    realtime.subscribe(ASSISTANTS, '', (doc, verb) => this.#take(doc, verb))
    realtime.keepLoaded(() => this.load())
  }

  async load() {
    const docs = await all(ASSISTANTS)
    this.#docs = new Map(docs.map((doc) => [doc._id, doc]))
    this.isLoaded = true
    this.dispatchEvent(new Event('change'))
  }

  /** By their names. */
  get list() {
    return [...this.#docs.values()].sort((a, b) => nameOf(a).localeCompare(nameOf(b)))
  }

  get(id) {
    return this.#docs.get(id)
  }

  #take(doc, verb) {
    if (verb === 'DELETED') this.#docs.delete(doc._id)
    else this.#docs.set(doc._id, doc)
    this.dispatchEvent(new Event('change'))
  }
}

export function nameOf(assistant) {
  return typeof assistant.name === 'string' ? assistant.name : ''
}

/** The id of its knowledge base folder: the relationship's, else the deprecated attribute's. */
export function folderOf(assistant) {
  const related = assistant.relationships?.knowledgeBase?.data
  const current = Array.isArray(related) ? related.filter((entry) => entry?._type === FILES).map((entry) => entry._id) : []
  const former = Array.isArray(assistant.knowledgeBase) ? assistant.knowledgeBase : []
  const old = former.filter((entry) => entry?.doctype === FILES).map((entry) => entry.dirId)
  return (current.length ? current : old).find(Boolean) ?? null
}
