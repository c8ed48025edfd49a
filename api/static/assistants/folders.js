// A tree of folders, one of which is chosen: the ARIA pattern of a tree, read from the server as it is opened.

import { ROOT } from '../data/files.js'
import { children, lineage } from '../data/folders.js'
import { h, icon, newId } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const PAGE = 1000
export const ALL_INDEXED = '' // the id of no folder

/** Dispatches 'change' when the person chooses. */
export class FolderTree extends EventTarget {
  #nodes = new Map() // id -> node
  #value = ALL_INDEXED
  #say

  constructor(say) {
    super()
    this.#say = say
    const listeners = { onkeydown: (event) => this.#key(event), onclick: (event) => this.#click(event) }
    this.element = h('ul', { role: 'tree', class: 'tree', 'aria-label': t('folder'), ...listeners },
      this.#node(ALL_INDEXED, t('allFiles'), false), this.#node(ROOT, t('myFiles')))
    this.#mark()
  }

  get value() {
    return this.#value
  }

  /** Opens what is above the folder. */
  set value(id) {
    this.#value = id
    this.#mark()
    this.#reveal(id).catch((error) => this.#say(error.message))
  }

  async #reveal(id) {
    await this.#open(this.#nodes.get(ROOT))
    if (!id || id === ROOT) return
    for (const folder of await lineage(id)) {
      const parent = this.#nodes.get(folder.dir_id)
      await this.#open(parent)
      if (!this.#nodes.has(folder._id)) this.#put(parent, [folder])
    }
    this.#mark()
  }

  #node(id, name, isFolder = true) {
    const group = isFolder && h('ul', { role: 'group', id: newId('folders'), hidden: true })
    const opens = isFolder ? { 'aria-expanded': 'false', 'aria-owns': group.id } : {}
    const item = h('div', { role: 'treeitem', tabindex: '-1', 'aria-selected': 'false', ...opens },
      h('span', { class: 'twisty' }), icon(isFolder ? 'folder' : 'file'), h('span', { dir: 'auto' }, name))
    const element = h('li', { role: 'none' }, item, group)
    element.dataset.id = id
    this.#nodes.set(id, { id, element, item, group, after: '', read: null })
    return element
  }

  /** The node that an element belongs to. */
  #of(element) {
    return this.#nodes.get(element?.closest('li')?.dataset.id)
  }

  #parentOf(node) {
    return this.#of(node.element.parentElement)
  }

  /** What is chosen is marked, and the one item that Tab reaches, unless it is not in sight yet. */
  #mark() {
    for (const { id, item } of this.#nodes.values()) item.setAttribute('aria-selected', String(id === this.#value))
    this.#reach(this.#nodes.get(this.#value) ?? this.#nodes.get(ROOT))
  }

  #reach({ item }) {
    for (const other of this.element.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1
    item.tabIndex = 0
  }

  async #open(node) {
    if (!node?.group) return
    node.item.setAttribute('aria-expanded', 'true')
    node.group.hidden = false
    await (node.read ??= this.#read(node))
  }

  async #read(node) {
    node.item.setAttribute('aria-busy', 'true')
    try {
      const { docs, after, next } = await children(node.id, 'directory', PAGE, node.after)
      node.after = after
      this.#put(node, docs, next)
    } catch (error) {
      node.read = null
      throw error
    } finally {
      node.item.removeAttribute('aria-busy')
    }
  }

  /** Folders below one; a folder that has none cannot be opened. */
  #put(node, docs, isMore = false) {
    const added = docs.filter((doc) => !this.#nodes.has(doc._id)).sort((a, b) => a.name.localeCompare(b.name))
    node.group.append(...added.map((doc) => this.#node(doc._id, doc.name)))
    if (isMore) node.group.append(this.#node(`more ${node.id}`, t('more'), false))
    if (node.group.childElementCount) node.item.setAttribute('aria-expanded', String(!node.group.hidden))
    else node.item.removeAttribute('aria-expanded')
  }

  #close({ item, group }) {
    item.setAttribute('aria-expanded', 'false')
    group.hidden = true
  }

  #toggle(node) {
    if (!node.item.hasAttribute('aria-expanded')) return
    if (node.group.hidden) this.#open(node).catch((error) => this.#say(error.message))
    else this.#close(node)
  }

  async #choose(node) {
    if (node.id.startsWith('more ')) return this.#more(node)
    this.#value = node.id
    this.#mark()
    this.dispatchEvent(new Event('change'))
  }

  /** In place of "Show more", which had the focus, stands the first that it brought. */
  async #more(node) {
    const parent = this.#parentOf(node)
    const before = node.element.previousElementSibling
    this.#nodes.delete(node.id)
    node.element.remove()
    await this.#read(parent).catch((error) => this.#say(error.message))
    this.#focus(this.#of(before?.nextElementSibling ?? before) ?? parent)
  }

  #focus(node) {
    this.#reach(node)
    node.item.focus()
  }

  #click(event) {
    const node = this.#of(event.target)
    if (!node) return
    this.#focus(node)
    if (event.target.closest('.twisty')) this.#toggle(node)
    else this.#choose(node)
  }

  #key(event) {
    const node = this.#of(event.target)
    if (!node || event.ctrlKey || event.altKey || event.metaKey) return
    const items = [...this.element.querySelectorAll('[role=treeitem]')].filter((item) => !item.closest('[hidden]'))
    const at = items.indexOf(node.item)
    const moves = { ArrowDown: items[at + 1], ArrowUp: items[at - 1], Home: items[0], End: items.at(-1) }
    const choose = () => this.#choose(node)
    const acts = { ArrowRight: () => this.#goIn(node), ArrowLeft: () => this.#goOut(node), Enter: choose, ' ': choose }
    if (!(event.key in moves || event.key in acts)) return
    event.preventDefault()
    if (acts[event.key]) acts[event.key]()
    else if (moves[event.key]) this.#focus(this.#of(moves[event.key]))
  }

  /** Opens a folder; in an open one, on to the first below. */
  #goIn(node) {
    if (node.item.getAttribute('aria-expanded') === 'false') this.#toggle(node)
    else if (node.group?.firstElementChild) this.#focus(this.#of(node.group.firstElementChild))
  }

  /** Closes an open folder; from a closed one, on to that above. */
  #goOut(node) {
    const parent = this.#parentOf(node)
    if (node.item.getAttribute('aria-expanded') === 'true') this.#close(node)
    else if (parent) this.#focus(parent)
  }
}
