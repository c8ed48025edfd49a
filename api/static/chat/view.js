// The view of a chat: whom one talks with, the conversation, the box.

import { Composer } from './composer.js'
import { Conversation } from './conversation.js'
import { CHAT, SurfaceChoice } from './surfaces.js'
import { TOOLS } from './tools.js'
import { nameOf } from '../data/assistants.js'
import { attempt } from '../lib/attempt.js'
import { h, randomId } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

/** A new conversation has an id from the beginning; it is in nobody's list before its first question. */
export class ChatView {
  constructor(app, id) {
    this.app = app
    this.id = id || randomId()
    this.isNew = !id
    this.error = h('p', { class: 'error', role: 'alert', hidden: true })
    this.assistant = h('select', { 'aria-label': t('assistant') })
    this.surfaces = new SurfaceChoice(this.isNew ? app.lastSurface : CHAT, () => this.#showSurface())
    this.composer = new Composer({ send: (text) => this.#send(text), stop: () => this.chat.stop(), say: (text) => this.say(text),
      surfaces: this.surfaces.elements })
    this.chat = new Conversation(this, this.id)
    this.hint = h('p')
    this.welcome = h('div', { class: 'welcome', hidden: !this.isNew }, h('h1', {}, t('welcome')), this.hint)
    this.element = h('section', { class: 'chat' }, this.welcome, this.chat.element,
      h('div', { class: 'below' }, this.error, this.composer.element))
    this.#follow()
  }

  get conversations() {
    return this.app.conversations
  }

  get realtime() {
    return this.app.realtime
  }

  /** What stands in the header: the choice of an assistant; of a conversation that was begun it is made. */
  get header() {
    return this.assistant
  }

  /** How the next question is answered. */
  get surface() {
    return this.surfaces.surface
  }

  #follow() {
    this.onchange = () => this.#showAssistants()
    this.app.assistants.addEventListener('change', this.onchange)
    this.chat.addEventListener('change', () => this.#changed())
    this.chat.addEventListener('gone', () => (location.hash = '#/'))
    this.onkeydown = (event) => this.#key(event)
    document.addEventListener('keydown', this.onkeydown)
    this.#showAssistants()
    this.#showSurface()
  }

  async open() {
    requestAnimationFrame(() => this.composer.focus()) // it asks for the layout, which comes then anyway
    if (this.isNew) return
    await attempt(async () => {
      await this.chat.load()
      this.isLoaded = true
      this.#showAssistants()
    }, (text) => this.say(text))
  }

  close() {
    this.chat.close()
    this.app.assistants.removeEventListener('change', this.onchange)
    document.removeEventListener('keydown', this.onkeydown)
  }

  #changed() {
    this.composer.busy = this.chat.open.length > 0
    const isBegun = this.chat.messages.length > 0
    this.welcome.hidden = isBegun || !this.isNew
    this.assistant.disabled = isBegun
    this.surfaces.fix(isBegun || !(this.isNew || this.isLoaded), isBegun ? this.chat.surface : undefined)
  }

  #showSurface() {
    this.composer.hasOptions = this.surface === CHAT
    this.hint.textContent = t(`surfaceHint_${this.surface}`)
  }

  #showAssistants() {
    const chosen = this.chat.messages.length ? (this.chat.assistantId ?? '') : this.assistant.value || this.app.lastAssistant || ''
    const { list, isLoaded } = this.app.assistants
    const options = list.map((assistant) => h('option', { value: assistant._id }, nameOf(assistant)))
    const other = t(isLoaded ? 'unknownAssistant' : 'loading')
    if (chosen && !this.app.assistants.get(chosen)) options.push(h('option', { value: chosen }, other))
    this.assistant.replaceChildren(h('option', { value: '' }, t('allFiles')), ...options)
    this.assistant.value = chosen
    this.#changed()
  }

  /** The fields of the request besides the question. */
  options() {
    return { ...this.composer.options(), tools: TOOLS }
  }

  async #send(text) {
    const assistantID = this.assistant.value || undefined
    await this.chat.ask(text, { assistantID, ...this.options() })
    this.app.lastAssistant = this.assistant.value
    this.app.lastSurface = this.surface
    if (this.app.view !== this) return // somebody went elsewhere meanwhile: the address is of that
    if (this.isNew) history.replaceState(null, '', `#/c/${encodeURIComponent(this.id)}`)
    this.isNew = false
    this.app.opened(this.id)
    this.#changed()
  }

  #key(event) {
    if (event.key !== 'Escape' || document.querySelector('dialog[open]') || !this.chat.open.length) return
    event.preventDefault()
    attempt(() => this.chat.stop(), (text) => this.say(text))
  }

  say(text) {
    this.error.textContent = text
    this.error.hidden = !text
  }
}
