// What is in a folder, file by file with its status, kept as it is in the database.

import { Gathering } from './gathering.js'
import { fileRow, fill, folderRow } from './rows.js'
import { FILES, STATUSES, many } from '../data/documents.js'
import { children, isShown, statuses } from '../data/folders.js'
import { attempt } from '../lib/attempt.js'
import { button, h, iconButton } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const PAGE = 100
const KINDS = ['directory', 'file']
const BEGINNING = Object.fromEntries(KINDS.map((kind) => [kind, { after: '', next: true }]))

export class FolderList {
  #entries = new Map() // id -> {doc, status, row}
  #ends = BEGINNING // kind -> {after, next}
  #stops = []
  #reads = 0
  #late = [] // events that came while the documents were read

  /** `folder` is `{_id, path}`: nothing above it is shown. */
  constructor({ realtime, folder, say }) {
    this.realtime = realtime
    this.top = this.folder = folder
    this.say = say
    this.unknown = new Gathering((ids) => attempt(() => this.#learn(ids), this.say))
    this.up = iconButton('back', t('folderUp'), () => attempt(() => this.#goUp(), this.say), { hidden: true })
    this.path = h('span', { class: 'path', dir: 'auto', tabindex: '-1' }, folder.path)
    this.list = h('ul', { class: 'list files', 'aria-label': t('filesOf') })
    this.none = h('p', { class: 'hint' }, t('loading'))
    this.more = button(t('more'), () => attempt(() => this.#read(this.#entries, this.#ends), this.say), { class: 'small', hidden: true })
    this.element = h('div', { class: 'folder' }, h('div', { class: 'where' }, this.up, this.path), this.none, this.list, this.more)
  }

  open() {
    this.#stops = [
      this.realtime.subscribe(FILES, '', (doc, verb) => this.#take(() => this.#takeFile(doc, verb))),
      this.realtime.subscribe(STATUSES, '', (doc, verb) => this.#take(() => this.#takeStatus(doc, verb)))
    ]
    return this.load()
  }

  close() {
    this.#reads += 1
    this.unknown.close()
    for (const stop of this.#stops) stop()
  }

  /** From the beginning; what is shown stays until that is there. */
  load() {
    return this.#read(new Map(), BEGINNING)
  }

  async #read(entries, ends) {
    const read = (this.#reads += 1)
    this.list.setAttribute('aria-busy', 'true')
    const kinds = KINDS.filter((kind) => ends[kind].next)
    const pages = await Promise.all(kinds.map((kind) => children(this.folder._id, kind, PAGE, ends[kind].after)))
    const docs = pages.flatMap((page) => page.docs)
    const told = await statuses(docs.filter((doc) => doc.type === 'file').map((doc) => doc._id))
    if (read !== this.#reads) return // it is read anew, or another folder is
    this.#entries = entries
    this.#ends = { ...ends, ...Object.fromEntries(kinds.map((kind, index) => [kind, pages[index]])) }
    for (const doc of docs) this.#put(doc, told.get(doc._id))
    this.list.removeAttribute('aria-busy')
    for (const act of this.#late.splice(0)) act()
    this.#show()
  }

  #put(doc, status) {
    const row = doc.type === 'file' ? fileRow(doc, status) : folderRow(doc, () => this.#goTo(doc))
    this.#entries.set(doc._id, { doc, status, row })
  }

  #show() {
    const entries = [...this.#entries.values()].sort((a, b) => order(a.doc, b.doc))
    fill(this.list, entries.map(({ row }) => row))
    this.path.textContent = this.folder.path
    this.up.hidden = this.folder._id === this.top._id
    this.more.hidden = !KINDS.some((kind) => this.#ends[kind].next)
    this.none.textContent = t('folderEmpty')
    this.none.hidden = entries.length > 0
  }

  #goTo(folder) {
    this.folder = folder
    this.path.focus()
    return attempt(() => this.load(), this.say)
  }

  async #goUp() {
    const parent = (await many(FILES, [this.folder.dir_id])).get(this.folder.dir_id)
    await this.#goTo(parent && parent._id !== this.top._id ? parent : this.top)
  }

  #take(act) {
    if (this.list.hasAttribute('aria-busy')) this.#late.push(act)
    else act()
  }

  /** A file that came while there is more to show is shown with that. */
  #takeFile(doc, verb) {
    const known = this.#entries.get(doc._id)
    const isHere = verb !== 'DELETED' && doc.dir_id === this.folder._id && isShown(doc)
    if (!known && (!isHere || this.#ends[doc.type].next)) return
    if (isHere) this.#put(doc, known?.status)
    else this.#entries.delete(doc._id)
    if (isHere && !known) this.unknown.add(doc._id)
    this.#showSoon()
  }

  #takeStatus(doc, verb) {
    const known = this.#entries.get(doc._id)
    if (!known) return
    this.#put(known.doc, verb === 'DELETED' ? undefined : doc)
    this.#showSoon()
  }

  /** A file that was moved here has a status already. */
  async #learn(ids) {
    for (const status of (await statuses(ids)).values()) this.#takeStatus(status)
  }

  /** Of many changes at once, one is drawn. */
  #showSoon() {
    this.drawing ??= requestAnimationFrame(() => {
      this.drawing = undefined
      this.#show()
    })
  }
}

function order(a, b) {
  return KINDS.indexOf(a.type) - KINDS.indexOf(b.type) || a.name.localeCompare(b.name, undefined, { numeric: true })
}
