// The list at the side: the conversations, the assistants, and what concerns the page itself.

import { avatar } from './assistants/avatar.js'
import { nameOf } from './data/assistants.js'
import { PENDING } from './data/memories.js'
import { attempt } from './lib/attempt.js'
import { asked, confirmed } from './lib/dialog.js'
import { button, h, icon, iconButton } from './lib/dom.js'
import { LANGUAGES, choose, date, language, number, t } from './lib/i18n.js'
import { signOut } from './lib/session.js'
import { ADDRESS as MEMORIES } from './memories/view.js'

export class Sidebar {
  isOpen = false
  #current = null

  constructor(app) {
    this.app = app
    this.conversations = h('ul', { class: 'list' })
    this.assistants = h('ul', { class: 'list' })
    this.pending = h('span')
    this.more = button(t('more'), () => app.conversations.more().catch(() => {}), { class: 'small', hidden: true })
    this.element = h('nav', { id: 'sidebar', class: 'sidebar', 'aria-label': t('conversations') },
      h('a', { class: 'new', href: '#/' }, icon('add'), t('newConversation')),
      h('a', { class: 'memories-link', href: MEMORIES, 'data-id': MEMORIES }, icon('memories'), t('memories'), this.pending),
      h('h2', {}, t('conversations')), this.conversations, this.more,
      h('h2', {}, t('assistants'),
        h('a', { class: 'icon small', href: '#/a', title: t('newAssistant'), 'aria-label': t('newAssistant') }, icon('add'))),
      this.assistants, this.#foot())
    app.conversations.addEventListener('change', () => this.#showConversations())
    app.assistants.addEventListener('change', () => this.#showAssistants())
    app.memories.addEventListener('change', () => this.#showPending())
  }

  set current(id) {
    this.#current = id
    for (const link of this.element.querySelectorAll('a[data-id]')) this.#mark(link)
  }

  #mark(link) {
    if (link.dataset.id === this.#current) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }

  #showConversations() {
    const items = this.app.conversations.list.map((conversation) => this.#conversation(conversation))
    refill(this.conversations, items, t('noConversations'))
    this.more.hidden = !this.app.conversations.next
  }

  #conversation({ id, title, date: changed }) {
    const name = title || date(changed)
    const tools = h('span', { class: 'tools' },
      iconButton('edit', t('rename', { name }), () => this.#rename(id, name), { class: 'icon small' }),
      iconButton('remove', t('remove', { name }), () => this.#remove(id, name), { class: 'icon small' }))
    return h('li', {}, this.#link(`#/c/${encodeURIComponent(id)}`, id, name, date(changed)), tools)
  }

  #link(href, id, name, title, image) {
    const link = h('a', { href, 'data-id': id, title, dir: 'auto' }, image, name)
    this.#mark(link)
    return link
  }

  /** How many memories wait for the person's word. */
  #showPending() {
    const { length } = this.app.memories.of(PENDING)
    this.pending.replaceChildren(...(length ? [h('span', { class: 'number', 'aria-hidden': 'true' }, number(length)),
      h('span', { class: 'unseen' }, t('pending', { n: length }))] : []))
  }

  #showAssistants() {
    const items = this.app.assistants.list.map((assistant) => {
      const id = assistant._id
      return h('li', {}, this.#link(`#/a/${encodeURIComponent(id)}`, id, nameOf(assistant) || t('assistant'), '', avatar(assistant)))
    })
    refill(this.assistants, items, t('noAssistants'))
  }

  async #rename(id, name) {
    const wanted = await asked(t('renameTitle'), t('name'), name)
    if (wanted && wanted !== name) await this.#try(() => this.app.conversations.rename(id, wanted))
  }

  async #remove(id, name) {
    if (!(await confirmed(t('removeTitle'), t('removeText', { name }), t('removeIt')))) return
    await this.#try(() => this.app.conversations.remove(id))
  }

  #try(act) {
    return attempt(act, (text) => this.app.view?.say?.(text))
  }

  #foot() {
    const options = Object.entries(LANGUAGES).map(([tag, name]) => h('option', { value: tag, lang: tag }, name))
    const select = h('select', { 'aria-label': t('language'), onchange: () => choose(select.value) }, options)
    select.value = language
    return h('footer', {}, select, iconButton('leave', t('signOut'), () => {
      signOut()
      location.replace('/')
    }))
  }
}

/** Other items in a list, which changes whenever an answer is saved: who stands in it with the keyboard stays there. */
function refill(list, items, none) {
  const active = document.activeElement
  const item = list.contains(active) ? active.closest('li') : null
  const place = item ? targets(item).indexOf(active) : -1
  list.replaceChildren(...(items.length ? items : [h('li', { class: 'hint' }, none)]))
  const same = item && items.find((other) => idOf(other) === idOf(item))
  if (same) targets(same)[place]?.focus()
}

function targets(item) {
  return [...item.querySelectorAll('a, button')]
}

function idOf(item) {
  return item.querySelector('a')?.dataset.id
}
