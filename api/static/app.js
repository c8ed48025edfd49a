// The page of somebody who is signed in: the list at the side, and one view.

import { AssistantView } from './assistants/view.js'
import { showFile } from './files/view.js'
import { CHAT } from './chat/surfaces.js'
import { ChatView } from './chat/view.js'
import { MemoriesView } from './memories/view.js'
import { Assistants } from './data/assistants.js'
import { Budget } from './data/budget.js'
import { Conversations } from './data/conversations.js'
import { follow } from './data/files.js'
import { Memories } from './data/memories.js'
import { announce, h, iconButton } from './lib/dom.js'
import { percent, t } from './lib/i18n.js'
import { Realtime } from './lib/realtime.js'
import { Sidebar } from './sidebar.js'

const NARROW = matchMedia('(max-width: 48rem)')

export class App {
  lastAssistant = ''
  lastSurface = CHAT
  #begun = '' // the address that was routed first
  #leaving = new AbortController() // who signs in again gets another page: this one must not follow the address any more

  constructor() {
    this.realtime = new Realtime()
    this.conversations = new Conversations(this.realtime)
    this.assistants = new Assistants(this.realtime)
    this.memories = new Memories(this.realtime)
    this.budget = new Budget(this.realtime, this.conversations)
    follow(this.realtime)
    this.sidebar = new Sidebar(this)
    this.lost = h('p', { class: 'lost', role: 'status', hidden: true }, t('lost'))
    this.menu = iconButton('menu', t('menu'), () => this.toggleMenu(), { class: 'icon menu', 'aria-expanded': 'false', 'aria-controls': 'sidebar' })
    this.header = h('div', { class: 'view-header' })
    this.left = h('p', { class: 'left', role: 'status', hidden: true })
    this.main = h('main', { id: 'main' })
    this.element = h('div', { class: 'app' }, this.sidebar.element,
      h('div', { class: 'stage' }, h('header', {}, this.menu, this.header, this.left), this.lost, this.main))
  }

  start() {
    this.realtime.addEventListener('open', () => this.#connected(true))
    this.realtime.addEventListener('lost', () => this.#connected(false))
    this.realtime.connect()
    const { signal } = this.#leaving
    addEventListener('hashchange', (event) => this.#route(event), { signal })
    NARROW.addEventListener('change', () => this.toggleMenu(false), { signal })
    this.main.addEventListener('click', () => this.sidebar.isOpen && this.toggleMenu(false))
    this.element.addEventListener('keydown', (event) => this.#key(event))
    this.conversations.addEventListener('change', () => this.#name())
    this.budget.addEventListener('change', () => this.#showLeft())
    this.toggleMenu(false)
    this.#begun = location.href
    setTimeout(() => (this.#begun = ''))
    this.#route()
  }

  close() {
    this.#leaving.abort()
    this.realtime.close()
    this.budget.close()
    this.view?.close()
  }

  #connected(isConnected) {
    if (isConnected && !this.lost.hidden) announce(t('connected'))
    this.lost.hidden = isConnected
  }

  #showLeft() {
    const { left } = this.budget
    this.left.hidden = left === null
    this.left.textContent = left === null ? '' : t('left', { percent: percent(left) })
  }

  /** `#/c/<id>`, `#/a/<id>`, `#/a` (a new one), `#/memories`, `#/file/<id>` over what is shown; anything else: a new conversation. */
  #route(event) {
    if (event?.newURL === this.#begun) return // it changed before the page began
    const [, kind, id] = location.hash.split('/').map(decoded)
    this.toggleMenu(false)
    if (kind === 'file') {
      showFile(id, () => (event ? history.back() : history.replaceState(null, '', '#/'))) // nothing is behind the first
      if (!this.view) this.#show(new ChatView(this))
      return
    }
    if (this.view?.id === id && id) return
    if (kind === 'memories') this.#show(new MemoriesView(this))
    else if (kind === 'a') this.#show(new AssistantView(this, id))
    else this.#show(new ChatView(this, kind === 'c' ? id : undefined))
  }

  #show(view) {
    this.view?.close()
    this.view = view
    this.main.replaceChildren(view.element)
    this.header.replaceChildren(view.header)
    this.opened(view.id)
    view.open()
  }

  /** What is shown has this id: the list marks it, the window is called after it. */
  opened(id) {
    this.sidebar.current = id
    this.#name()
  }

  #name() {
    const title = this.conversations.get(this.view?.id)?.title
    document.title = title ? `${title} – ragcore` : 'ragcore'
  }

  #key(event) {
    if (event.key !== 'Escape' || !this.sidebar.isOpen) return
    event.stopPropagation() // it stops no answer
    this.toggleMenu(false)
    this.menu.focus()
  }

  /** On a narrow screen the list lies over the view, and only when it is asked for. */
  toggleMenu(open = !this.sidebar.isOpen) {
    const isShown = open || !NARROW.matches
    this.sidebar.isOpen = open
    this.sidebar.element.inert = !isShown
    this.element.classList.toggle('menu-open', open && NARROW.matches)
    this.menu.setAttribute('aria-expanded', String(open))
    if (open) this.sidebar.element.querySelector('a').focus()
  }
}

function decoded(segment) {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}
