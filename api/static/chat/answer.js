// One answer: as it streams, and as it is saved. The same element is both, so that nothing jumps.

import { actionCard } from './action.js'
import { cite } from './citations.js'
import { actionOf } from './messages.js'
import { titleOf } from './outcome.js'
import { sourceChips } from './sources.js'
import { spentCard } from './spent.js'
import { Steps } from './steps.js'
import { isSame } from '../data/documents.js'
import { announce, button, h, iconButton } from '../lib/dom.js'
import { date, roughly, said, t } from '../lib/i18n.js'
import { Markdown } from '../lib/markdown.js'

/** `chat` is the conversation that it stands in, `question` the message that it is owed to. */
export class Answer {
  #pieces = { delta: [], reasoning: [] }
  #told = { delta: 0, reasoning: 0 } // how many pieces are shown
  #sources = []
  #message = null
  #saved = null
  state = 'waiting' // then streaming, done, stopped, error, none

  constructor(chat, question) {
    this.chat = chat
    this.question = question
    this.thought = h('div', { class: 'thought', dir: 'auto' })
    this.thinking = h('details', { class: 'thinking', hidden: true }, h('summary', {}, t('thinking')), this.thought)
    this.steps = new Steps()
    this.body = h('div', { class: 'text' })
    this.after = h('div', { class: 'after' })
    this.note = h('div', { class: 'note' }, this.#dots())
    this.element = h('article', { class: 'message assistant', 'aria-label': t('answer'), 'aria-busy': 'true' },
      this.thinking, this.steps.element, this.body, this.after, this.note)
    this.markdown = new Markdown(this.body, () => this.#showCitations())
    this.thoughts = new Markdown(this.thought, () => chat.grew())
  }

  get isOpen() {
    return this.state === 'waiting' || this.state === 'streaming'
  }

  /** The text, as the model wrote it. */
  get text() {
    return this.markdown.text
  }

  /** What it proposes to do, for who does not see the card. */
  get proposal() {
    return this.#message?.action ? t('proposed', { what: titleOf(this.#message.action) }) : ''
  }

  /** An event of the question. Each may come again: after a lost connection all are told from the first. */
  take(event) {
    if (!this.isOpen) return
    if (event.object === 'delta' || event.object === 'reasoning') this.#piece(event)
    else if (event.object === 'tool') this.#takeStep(event.tool)
    else if (event.object === 'sources') this.#setSources(event.content)
    else if (event.object === 'action') this.#propose(event.action, event.message_id)
    else if (event.object === 'error') this.fail(event)
    else if (event.object === 'done') this.chat.ended(this)
  }

  /** Pieces have their places; what is known already is not shown twice. */
  #piece({ object, position, content }) {
    this.state = 'streaming'
    this.#pieces[object][position] = content
    const shown = object === 'delta' ? this.markdown : this.thoughts
    for (let next; (next = this.#pieces[object][this.#told[object]]) !== undefined; this.#told[object] += 1) shown.append(next)
    this.thinking.hidden = !this.thoughts.text
    if (object === 'delta') this.note.replaceChildren()
  }

  #takeStep(tool) {
    this.steps.take(tool)
    this.chat.grew()
  }

  #setSources(sources) {
    this.#sources = sources
    this.#showAfter()
    this.#showCitations()
  }

  /** The numbers are in the text before it is known what they are of. */
  #showCitations() {
    cite(this.body, this.#sources)
    this.chat.grew()
  }

  #propose(action, messageId) {
    this.#message = { id: messageId, action: actionOf(action) }
    this.#showAfter()
  }

  #showAfter() {
    const action = this.#message?.action
    this.after.replaceChildren(
      ...[action && actionCard(this.chat, this.#message), sourceChips(this.#sources)].filter(Boolean))
    this.chat.grew()
  }

  /** The answer as it stands in the conversation; again, when the outcome of its action was written. */
  save(message) {
    if (isSame(message, this.#saved)) return
    this.#saved = message
    const before = this.#message?.action
    const isNew = this.state !== 'done'
    this.markdown.set(message.content)
    this.thoughts.set(message.reasoning)
    this.thinking.hidden = !message.reasoning
    this.#message = message
    this.#sources = message.sources
    if (isNew || !isSame(message.action, before)) this.#showAfter()
    this.#showCitations()
    this.#close('done', message.truncated && h('span', {}, t('truncated')), this.#foot(message))
  }

  #foot({ content, createdAt, tokens }) {
    const copy = content && iconButton('copy', t('copy'), () => this.#copy(content), { class: 'icon small' })
    return h('span', { class: 'foot' }, h('time', { datetime: createdAt ?? '' }, date(createdAt)),
      tokens > 0 && h('span', { class: 'tokens' }, t('tokens', { n: tokens, count: roughly(tokens) })), copy)
  }

  async #copy(text) {
    await navigator.clipboard?.writeText(text).then(() => announce(t('copied')), () => {}) // not every browser lets a page do so
  }

  /** Stopped by the user: what had come of it stays in sight until the page is loaded again. */
  stop() {
    this.#close('stopped', h('span', {}, t('stopped')), this.#retry())
  }

  /** `{message, code}`, as the error event has them, and with the code `budget` more. */
  fail(error) {
    const { message, code } = error
    const card = code === 'budget' ? spentCard(error) : h('span', { class: 'error', role: 'alert' }, said(`error_${code}`, message))
    this.#close('error', card, this.#retry())
  }

  /** Nobody knows any more what became of it. */
  forget() {
    this.#close('none', h('span', {}, t('noAnswer')), this.#retry())
  }

  #retry() {
    return button(t('retry'), () => this.chat.retry(this.question), { class: 'small retry' })
  }

  #close(state, ...notes) {
    this.state = state
    this.element.setAttribute('aria-busy', 'false')
    this.steps.end()
    this.note.replaceChildren(...notes.filter(Boolean))
    this.chat.closed(this)
  }

  #dots() {
    return h('span', { class: 'dots' }, h('span', { class: 'unseen' }, t('answering')), h('i'), h('i'), h('i'))
  }
}
