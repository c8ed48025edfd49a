// The memories: those that wait for the person's word, and those that are used for answers.

import { memoryRow } from './row.js'
import { ACTIVE, PENDING } from '../data/memories.js'
import { attempt } from '../lib/attempt.js'
import { h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export const ADDRESS = '#/memories'

export class MemoriesView {
  id = ADDRESS // what the list at the side marks

  constructor(app) {
    this.memories = app.memories
    this.header = h('div', { class: 'assistant-header' }, h('h1', {}, t('memories')))
    this.error = h('p', { class: 'error', role: 'alert', hidden: true })
    this.parts = [[PENDING, 'memoriesPending', 'noPending'], [ACTIVE, 'memoriesActive', 'noActive']]
      .map(([status, title, none]) => new Part(this, status, t(title), t(none)))
    this.element = h('section', { class: 'memories-view' }, h('div', { class: 'column' }, h('p', { class: 'hint' }, t('memoriesHint')),
      this.error, this.parts.map((part) => part.element)))
    this.onchange = () => this.#show()
  }

  open() {
    this.memories.addEventListener('change', this.onchange)
    this.#show()
    return attempt(() => this.memories.load(ACTIVE), (text) => this.say(text))
  }

  close() {
    this.memories.removeEventListener('change', this.onchange)
  }

  say(text) {
    this.error.textContent = text
    this.error.hidden = !text
  }

  #show() {
    for (const part of this.parts) part.show(this.memories.of(part.status))
  }
}

/** The memories of a status. A row that did not change stays as it is: somebody may stand in it. */
class Part {
  #rows = new Map() // of ids: {text, element}

  constructor(view, status, title, none) {
    this.view = view
    this.status = status
    this.title = h('h2', { tabindex: '-1' }, title)
    this.list = h('ul', { class: 'memories' })
    this.none = h('p', { class: 'hint' }, none)
    this.element = h('section', { class: 'part' }, this.title, this.none, this.list)
  }

  show(memories) {
    const hadFocus = this.list.contains(document.activeElement)
    this.#rows = new Map(memories.map((memory) => [memory.id, this.#rowOf(memory)]))
    const rows = [...this.#rows.values()].map(({ element }) => element)
    for (const gone of [...this.list.children].filter((element) => !rows.includes(element))) gone.remove()
    rows.forEach((row, place) => this.list.children[place] !== row && this.list.insertBefore(row, this.list.children[place] ?? null))
    this.none.hidden = rows.length > 0
    if (hadFocus && document.activeElement === document.body) this.title.focus() // what had it is gone
  }

  #rowOf(memory) {
    const known = this.#rows.get(memory.id)
    const text = JSON.stringify(memory)
    return known?.text === text ? known : { text, element: memoryRow(this.view, memory) }
  }
}
