// Where a question is written. It stays in the box until it was taken.

import { attempt } from '../lib/attempt.js'
import { button, h, icon } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

/** `send(text)` may fail: then the text stays, and `say` tells why. `stop()` stops the answers. */
export class Composer {
  constructor({ send, stop, say, surfaces }) {
    this.send = send
    this.stop = stop
    this.say = say
    this.box = h('textarea', { rows: '1', dir: 'auto', placeholder: t('ask'), 'aria-label': t('ask'),
      oninput: () => this.#changed(), onkeydown: (event) => this.#key(event) })
    this.sendButton = h('button', { type: 'submit', class: 'primary icon', 'aria-label': t('send'), title: t('send'), disabled: true }, icon('send'))
    this.stopButton = h('button', { type: 'button', class: 'primary icon', 'aria-label': t('stop'), title: t('stopKey'), hidden: true,
      onclick: () => this.#stop() }, icon('stop'))
    this.documents = this.#toggle('documents', true)
    this.websearch = this.#toggle('websearch', false)
    const options = h('div', { class: 'options' }, surfaces, this.documents, this.websearch)
    const row = h('div', { class: 'row' }, options, this.stopButton, this.sendButton)
    this.element = h('form', { class: 'composer', onsubmit: (event) => this.#submit(event) }, this.box, row)
  }

  #toggle(key, pressed) {
    const toggle = button(t(key), () => toggle.setAttribute('aria-pressed', String(toggle.getAttribute('aria-pressed') !== 'true')),
      { class: 'toggle', 'aria-pressed': String(pressed), title: t(`${key}Hint`) })
    return toggle
  }

  /** The fields of the request that the person chose. */
  options() {
    return { documents: this.documents.ariaPressed === 'true', websearch: this.websearch.ariaPressed === 'true' }
  }

  /** Whether there are options: they are the chat's. */
  set hasOptions(hasOptions) {
    this.documents.hidden = this.websearch.hidden = !hasOptions
  }

  focus() {
    this.box.focus()
  }

  /** Whether an answer is on its way: it can be stopped then. */
  set busy(busy) {
    this.stopButton.hidden = !busy
  }

  #changed() {
    this.sendButton.disabled = !this.box.value.trim() || this.isSending
    this.box.style.height = 'auto'
    this.box.style.height = `${this.box.scrollHeight}px`
  }

  #key(event) {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    this.element.requestSubmit()
  }

  async #submit(event) {
    event.preventDefault()
    const text = this.box.value
    if (!text.trim() || this.isSending) return
    this.isSending = true
    this.say('')
    try {
      await this.send(text.trim())
      if (this.box.value === text) this.box.value = ''
    } catch (error) {
      this.say(error.message)
    } finally {
      this.isSending = false
      this.#changed()
    }
  }

  #stop() {
    return attempt(this.stop, this.say)
  }
}
