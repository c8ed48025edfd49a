// What is left of the day's budget. Who has none is told nothing.

import { answered, json } from '../lib/http.js'

const TOLD_FROM = 0.5 // spent

/** Dispatches 'change'; `left` is a share, from 0 to 1, or null where it is not told. */
export class Budget extends EventTarget {
  #leaving = new AbortController()
  #isLimited = true // until it is known better: what nobody limits is costly to count
  left = null

  constructor(realtime, conversations) {
    super()
    realtime.addEventListener('open', () => this.load())
    conversations.addEventListener('document', ({ detail: { doc } }) => doc.messages?.at?.(-1)?.role === 'assistant' && this.load())
    answered.addEventListener('left', ({ detail }) => this.#set(detail), { signal: this.#leaving.signal })
  }

  close() {
    this.#leaving.abort()
  }

  /** Asks for it, again when something was spent; without a limit not again. */
  async load() {
    if (!this.#isLimited) return
    const { tokens } = await json('GET', '/api/usage').catch(() => ({}))
    if (tokens) this.#set(tokens.limit > 0 ? Math.max(0, 1 - tokens.used / tokens.limit) : null)
  }

  #set(left) {
    this.#isLimited = left !== null
    this.left = left !== null && left <= 1 - TOLD_FROM ? left : null
    this.dispatchEvent(new Event('change'))
  }
}
