// The card of an action that the assistant proposes: it is run when the person confirms it, and never by itself.

import { paramField } from './fields.js'
import { outcomeOf, titleOf } from './outcome.js'
import { labelOf, toolOf } from './tools.js'
import { resultOf } from './turns.js'
import { announce, button, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const cards = new WeakMap() // of a conversation: its cards, by the ids of their messages

/** `message` is the assistant's: `{id, action}`. The same element each time: what was edited in it stays. */
export function actionCard(chat, message) {
  if (!cards.has(chat)) cards.set(chat, new Map())
  const known = cards.get(chat)
  if (!known.has(message.id)) known.set(message.id, new Card(chat, message.id))
  const card = known.get(message.id)
  card.show(message.action)
  return card.element
}

/** An action whose result the assistant waits for is not over before it was given. */
function isHandled(action, result) {
  return Boolean(result) || action.status === 'cancelled' || (action.status === 'done' && !toolOf(action)?.givesResult)
}

class Card {
  #shown = ''
  #fields = new Map() // of the names of params
  #isSaved = false // the event comes before the message is in the conversation: an outcome has no place until then
  #ran = null // what running it gave: it is not run again when only the outcome could not be saved
  isBusy = false

  constructor(chat, id) {
    this.chat = chat
    this.id = id
    this.element = h('section', { class: 'action', tabindex: '-1' })
  }

  show(action) {
    this.#keepFocus()
    this.#isSaved ||= this.chat.messages.some((message) => message.id === this.id)
    const result = resultOf(this.chat.messages, this.id)
    const state = JSON.stringify([action.name, action.params, action.status, action.url, result?.id])
    if (state === this.#shown) return this.#setBusy(this.isBusy)
    this.#shown = state
    this.action = action
    this.element.setAttribute('aria-label', titleOf(action))
    this.element.replaceChildren(isHandled(action, result) ? outcomeOf(action, result) : this.#proposal())
  }

  /** Who puts the element in its place again takes the focus out of it. */
  #keepFocus() {
    const active = document.activeElement
    if (!this.element.contains(active)) return
    queueMicrotask(() => (active.isConnected && !active.disabled ? active : this.element).focus())
  }

  #proposal() {
    const tool = toolOf(this.action)
    this.#fields = new Map(Object.entries(this.action.params ?? {}).map(([name, value]) => [name, this.#field(tool, name, value)]))
    this.error = h('p', { class: 'error', role: 'alert', hidden: true })
    this.inputs = h('fieldset', {}, [...this.#fields.values()].map(({ element }) => element))
    this.confirm = tool && h('button', { type: 'submit', class: 'primary' }, t(tool.confirm))
    this.dismiss = button(t('dismiss'), () => this.#dismiss())
    this.#setBusy(this.isBusy) // as when its own outcome is saved, and its result is not given yet
    return h('form', { onsubmit: (event) => this.#submit(event) }, h('h3', {}, titleOf(this.action)),
      !tool && h('p', { class: 'hint' }, t('unknownAction')), this.inputs, this.error,
      h('p', { class: 'buttons' }, this.dismiss, this.confirm))
  }

  #field(tool, name, value) {
    const { properties = {}, required = [] } = tool?.definition.parameters ?? {}
    return paramField(labelOf(this.action, name), value, {
      schema: properties[name], isLong: tool?.long.includes(name), isRequired: required.includes(name), isReadOnly: !tool
    })
  }

  #submit(event) {
    event.preventDefault()
    return this.#try(() => this.#run(toolOf(this.action)))
  }

  #dismiss() {
    return this.#try(() => this.#save({ status: 'cancelled' }))
  }

  async #run(tool) {
    const params = Object.fromEntries([...this.#fields].map(([name, { read }]) => [name, read()]))
    const { url, result } = (this.#ran ??= await tool.run(params))
    await this.#save({ status: 'done', params, ...(url && { url }) }) // before the answer to the result is saved there too
    if (!result || resultOf(this.chat.messages, this.id)) return
    await this.chat.giveResult(this.id, result.ok, result.content)
    this.show(this.action)
  }

  /** The others see it by the event of the conversation, which may be a moment later here too. */
  async #save(outcome) {
    await this.chat.saveOutcome(this.id, outcome)
    this.show({ ...this.action, ...outcome })
    announce(t(outcome.status === 'done' ? toolOf(this.action).done : 'dismissed'))
  }

  /** One thing at a time, and what failed can be tried again. */
  async #try(act) {
    if (this.isBusy) return
    const hadFocus = this.element.contains(document.activeElement)
    this.#setBusy(true)
    this.#say('')
    try {
      await act()
    } catch (error) {
      this.#say(error.message)
    } finally {
      this.#setBusy(false)
      if (hadFocus && document.activeElement === document.body) this.element.focus() // what had it is disabled, or gone
    }
  }

  #setBusy(isBusy) {
    this.isBusy = isBusy
    this.element.setAttribute('aria-busy', String(isBusy))
    if (!this.inputs) return // it was handled before this page saw it
    this.inputs.disabled = isBusy || this.#ran !== null
    this.dismiss.disabled = isBusy || this.#ran !== null || !this.#isSaved
    if (this.confirm) this.confirm.disabled = isBusy || !this.#isSaved
  }

  #say(text) {
    this.error.textContent = text
    this.error.hidden = !text
  }
}
