// One conversation: its messages, and the answers that are on their way.

import { Answer } from './answer.js'
import { ask, cancel, post } from './requests.js'
import { CHAT, surfaceOf } from './surfaces.js'
import { answerTo, isQuestion, isRepeated, mayStillCome, pairs } from './turns.js'
import { userMessage } from './message.js'
import { messagesOf } from './messages.js'
import { CONVERSATIONS, EVENTS, get, update } from '../data/documents.js'
import { attempt } from '../lib/attempt.js'
import { announce, button, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'
import { Scroller } from '../lib/scroller.js'

const SHOWN = 8 // turns: the others are added when one scrolls up to them, or when there is room for them

/** Dispatches 'change' when answers begin or end, 'gone' when it was deleted. */
export class Conversation extends EventTarget {
  #turns = new Map() // of a question's id: {question, element, answer}
  #generation = 0 // of the revision that is shown
  #first = 0 // of the turns that are shown
  #hasGrown = false
  #isClosed = false
  #seen = null // tells when the button for earlier turns comes in sight
  #endings = [] // of what is subscribed to
  messages = []
  assistantId = null
  surface = CHAT

  constructor(view, id) {
    super()
    this.view = view
    this.id = id
    this.log = h('div', { class: 'messages', role: 'log', 'aria-live': 'off', 'aria-label': t('messages') })
    this.earlier = button(t('earlier'), () => this.#showEarlier(), { class: 'earlier small', hidden: true })
    this.element = h('div', { class: 'scroll', tabindex: '-1' }, this.earlier, this.log)
    this.scroller = new Scroller(this.element)
    this.#follow()
  }

  /** Answers that are on their way. */
  get open() {
    return [...this.#turns.values()].map((turn) => turn.answer).filter((answer) => answer.isOpen)
  }

  #follow() {
    const onDocument = ({ detail: { doc, verb } }) => doc._id === this.id && this.#take(doc, verb)
    const onOpen = () => this.messages.length && this.load().catch(() => {})
    this.view.conversations.addEventListener('document', onDocument)
    this.view.realtime.addEventListener('open', onOpen)
    this.#endings.push(() => this.view.conversations.removeEventListener('document', onDocument))
    this.#endings.push(() => this.view.realtime.removeEventListener('open', onOpen))
    this.#seen = new IntersectionObserver(([entry]) => entry.isIntersecting && this.#showEarlier(), { root: this.element })
    this.#seen.observe(this.earlier)
    this.#endings.push(() => this.#seen.disconnect())
  }

  close() {
    this.#isClosed = true
    for (const end of this.#endings) end()
    for (const turn of this.#turns.values()) turn.unsubscribe?.()
  }

  /** Reads the conversation; one that is not there yet has no messages. */
  async load() {
    try {
      this.#show(await get(CONVERSATIONS, this.id))
    } catch (error) {
      if (error.status !== 404) throw error
    }
  }

  #take(doc, verb) {
    if (verb === 'DELETED') this.dispatchEvent(new Event('gone'))
    else if (doc._cut) this.load().catch(() => {})
    else this.#show(doc)
  }

  /** An answer of the API can come later than the event of a newer revision: that one counts. */
  #show(doc) {
    if (this.#isClosed || generation(doc) < this.#generation) return
    this.#generation = generation(doc)
    const isFirst = !this.messages.length
    this.messages = messagesOf(doc)
    this.assistantId = doc.relationships?.assistant?.data?._id ?? null
    this.surface = surfaceOf(doc)
    const turns = pairs(this.messages)
    if (isFirst) this.#first = Math.max(turns.length - SHOWN, 0)
    this.#forgetOthers(turns)
    for (const turn of turns.slice(this.#first)) this.#showTurn(turn)
    this.earlier.hidden = this.#first === 0
    if (isFirst) this.scroller.toEnd()
    this.dispatchEvent(new Event('change'))
  }

  /** Turns that are in the conversation no more, as a question that could not be enqueued. */
  #forgetOthers(turns) {
    const ids = new Set(turns.map((turn) => turn.question.id))
    for (const [id, turn] of this.#turns) {
      if (ids.has(id)) continue
      turn.unsubscribe?.()
      turn.element.remove()
      this.#turns.delete(id)
    }
  }

  #showTurn({ question, answer: message }) {
    const turn = this.#turns.get(question.id) ?? this.#addTurn(question)
    if (message) {
      turn.unsubscribe?.()
      const wasOpen = turn.answer.isOpen && turn.unsubscribe
      turn.answer.save(message)
      if (wasOpen) this.#tellEnd(turn.answer)
    } else if (!turn.answer.isOpen) {
      this.closed(turn.answer)
    } else if (!turn.unsubscribe) {
      this.#wait(turn)
    }
  }

  #addTurn(question, before = null) {
    const answer = new Answer(this, question)
    const element = h('section', { class: 'turn' }, isQuestion(question) && userMessage(question), answer.element)
    const turn = { question, element, answer, unsubscribe: null }
    this.#turns.set(question.id, turn)
    this.log.insertBefore(element, before)
    return turn
  }

  /** An answer that may still come is followed from its beginning; an old question's is not known any more. */
  #wait(turn) {
    if (mayStillCome(turn.question)) {
      turn.unsubscribe = this.view.realtime.subscribe(EVENTS, turn.question.id, (event) => turn.answer.take(event))
    } else {
      turn.answer.forget()
    }
  }

  #showEarlier() {
    if (this.#first === 0) return
    const end = this.#first
    this.#first = Math.max(end - SHOWN, 0)
    const top = this.log.firstElementChild
    this.scroller.keep(() => {
      for (const { question, answer } of pairs(this.messages).slice(this.#first, end)) {
        const turn = this.#addTurn(question, top)
        if (answer) turn.answer.save(answer)
        else turn.answer.forget()
      }
      this.earlier.hidden = this.#first === 0
    })
    this.#seen.unobserve(this.earlier)
    this.#seen.observe(this.earlier) // tells again whether it is in sight still
  }

  /** Called by an answer whose elements grew: the layout is asked for once, however many did. */
  grew() {
    if (this.#hasGrown) return
    this.#hasGrown = true
    queueMicrotask(() => {
      this.#hasGrown = false
      this.scroller.follow()
    })
  }

  /** Called by an answer that is over. One that was asked again right behind is out of the way. */
  closed({ question, state }) {
    const turn = this.#turns.get(question.id)
    if (turn) turn.element.hidden = state !== 'done' && isRepeated(this.messages, question)
    this.grew()
    this.dispatchEvent(new Event('change'))
  }

  /** `done` came: the answer is in the conversation, or it was stopped. */
  async ended(answer) {
    if (!answerTo(this.messages, answer.question)) await this.load().catch(() => {})
    if (!answer.isOpen) return
    answer.stop()
    this.#tellEnd(answer)
  }

  #tellEnd(answer) {
    const said = [t('answered'), answer.text.slice(0, 1000), answer.proposal].filter(Boolean).join(' ')
    announce(answer.state === 'done' ? said : t('stopped'))
  }

  /** Sends a question. Raises RequestError, and nothing is changed then. */
  ask(text, options) {
    return this.#send(() => ask(this.view.surface, this.id, text, options))
  }

  /** Asks again what got no answer. The result of an action stands in the conversation: the assistant goes on from it. */
  retry(question) {
    const text = question.role === 'user' ? question.content : t('goOn')
    return attempt(() => this.ask(text, this.view.options()), (error) => this.view.say(error))
  }

  /** Gives the result of an action: the assistant goes on from it. */
  giveResult(messageId, ok, content) {
    return this.#send(() => post(this.id, { result: { messageID: messageId, ok, content }, ...this.view.options() }))
  }

  async #send(request) {
    this.scroller.toEnd()
    const saved = await request()
    announce(t('answering'))
    this.#show(saved)
    this.scroller.toEnd()
  }

  /** Writes what became of an action on its message: `{status, url}`. */
  saveOutcome(messageId, outcome) {
    const change = (message) => (message?.id === messageId ? { ...message, action: { ...message.action, ...outcome } } : message)
    return update(CONVERSATIONS, this.id, (doc) => ({ ...doc, messages: doc.messages.map(change) }))
  }

  stop() {
    return cancel(this.id)
  }
}

function generation({ _rev }) {
  return Number.parseInt(_rev, 10)
}
