// The files below a folder that are not indexed, and why.

import { Gathering } from './gathering.js'
import { fileRow, fill } from './rows.js'
import { isObjection } from '../files/status.js'
import { FILES, STATUSES } from '../data/documents.js'
import { places } from '../data/files.js'
import { isInside, isShown, objections, statuses } from '../data/folders.js'
import { attempt } from '../lib/attempt.js'
import { button, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const PAGE = 100 // what is read at once
const SHOWN = 100 // what is looked for at once
const MOST_PAGES = 10 // in which it is looked for
const BEGINNING = { after: '', next: true }

export class Problems {
  #rows = new Map() // id -> row
  #end = BEGINNING
  #reads = 0
  #stops = []

  constructor({ realtime, path, say }) {
    this.realtime = realtime
    this.path = path
    this.changed = new Gathering((ids) => attempt(() => this.#look(ids), this.say))
    this.say = say
    this.list = h('ul', { class: 'list files', 'aria-label': t('notIndexed') })
    this.more = button(t('more'), () => attempt(() => this.#read(this.#rows, this.#end), this.say), { class: 'small', hidden: true })
    this.element = h('section', { class: 'problems', hidden: true }, h('h3', {}, t('notIndexed')), this.list, this.more)
  }

  open() {
    this.#stops = [STATUSES, FILES].map((type) => this.realtime.subscribe(type, '', (doc, verb) => this.#take(type, doc, verb)))
    return this.load()
  }

  close() {
    this.#reads += 1
    this.changed.close()
    for (const stop of this.#stops) stop()
  }

  load() {
    return this.#read(new Map(), BEGINNING)
  }

  async #read(rows, end) {
    const read = (this.#reads += 1)
    const wanted = rows.size + SHOWN
    for (let pages = 0; end.next && rows.size < wanted && pages < MOST_PAGES; pages += 1) {
      end = await objections(PAGE, end.after)
      await this.#put(rows, new Map(end.docs.map((status) => [status._id, status])))
      if (read !== this.#reads) return
    }
    this.#rows = rows
    this.#end = end
    this.#show()
  }

  /** Those of the files with these statuses that are below the folder. */
  async #put(rows, told) {
    const files = await places([...told.keys()])
    for (const [id, file] of files) {
      if (isInside(file.path, this.path) && isShown(file)) rows.set(id, fileRow(file, told.get(id), file.folder))
    }
  }

  #show() {
    fill(this.list, [...this.#rows.values()])
    this.more.hidden = !this.#end.next
    this.element.hidden = !this.#rows.size && !this.#end.next
  }

  /** A file that is not here is nothing to us, before its status says that it is not indexed. */
  #take(type, doc, verb) {
    const isNew = type === STATUSES && verb !== 'DELETED' && isObjection(doc)
    if (isNew || this.#rows.has(doc._id)) this.changed.add(doc._id)
  }

  async #look(ids) {
    const told = await statuses(ids)
    for (const id of ids) this.#rows.delete(id)
    await this.#put(this.#rows, new Map([...told].filter(([, status]) => isObjection(status))))
    this.#show()
  }
}
