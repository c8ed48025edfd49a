// The websocket: AUTH, then what is subscribed to; a lost connection is mended, and everybody subscribed again.
//
// A question that is subscribed to by its id is told from its beginning each time, so nothing of it is lost. Of the
// documents that changed meanwhile there is no history: who shows some reads them again at 'open'.

import { signedOut } from './http.js'
import { token } from './session.js'

const FIRST_WAIT = 500 // ms before the second try, doubled each time
const LONGEST_WAIT = 10_000
const ASK_EVERY = 20_000 // ms: whether anybody is there still
const SILENT_FOR = 32_000

/** Dispatches 'open' and 'lost'. */
export class Realtime extends EventTarget {
  #socket = null
  #handlers = new Map() // "type id" -> handlers of its events
  #wait = FIRST_WAIT
  #timer = 0
  #heard = 0
  #leaving = new AbortController()

  connect() {
    this.#open()
    const { signal } = this.#leaving
    addEventListener('online', () => this.#hurry(), { signal })
    document.addEventListener('visibilitychange', () => document.hidden || this.#hurry(), { signal })
    const asking = setInterval(() => this.#ask(), ASK_EVERY)
    signal.addEventListener('abort', () => clearInterval(asking))
  }

  close() {
    this.#leaving.abort()
    clearTimeout(this.#timer)
    this.#socket?.close()
  }

  /** `handler(doc, verb)` is called with each event of a doctype, or of one document: a function that ends it. */
  subscribe(type, id, handler) {
    const subject = id ? { type, id } : { type }
    const key = JSON.stringify(subject)
    const handlers = this.#handlers.get(key) ?? new Set()
    handlers.add(handler)
    this.#handlers.set(key, handlers)
    if (handlers.size === 1 || id) this.#send('SUBSCRIBE', subject)
    return () => this.#unsubscribe(key, subject, handler)
  }

  /** Calls `load` whenever the connection is open, and again a little later where it failed. */
  keepLoaded(load) {
    const run = () => this.#leaving.signal.aborted || load().catch(() => setTimeout(run, LONGEST_WAIT))
    this.addEventListener('open', run)
  }

  #unsubscribe(key, subject, handler) {
    const handlers = this.#handlers.get(key)
    if (!handlers?.delete(handler) || handlers.size) return
    this.#handlers.delete(key)
    this.#send('UNSUBSCRIBE', subject)
  }

  #open() {
    clearTimeout(this.#timer)
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/realtime/`, 'io.cozy.websocket')
    this.#socket = socket
    socket.onopen = () => this.#opened()
    socket.onmessage = ({ data }) => this.#take(JSON.parse(data))
    socket.onclose = () => socket === this.#socket && this.#lost()
  }

  #opened() {
    this.#wait = FIRST_WAIT
    this.#heard = Date.now()
    this.#send('AUTH', token())
    for (const key of this.#handlers.keys()) this.#send('SUBSCRIBE', JSON.parse(key))
    this.dispatchEvent(new Event('open'))
  }

  #lost() {
    if (this.#leaving.signal.aborted) return
    this.dispatchEvent(new Event('lost'))
    this.#timer = setTimeout(() => this.#open(), this.#wait * (0.5 + Math.random() / 2))
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT)
  }

  /** Does not wait for the next try where there is reason to think that it works now. */
  #hurry() {
    if (this.#socket?.readyState < WebSocket.CLOSING) return
    this.#open()
  }

  /** Browsers tell nothing of a peer that vanished: a method that no server knows is answered by one that is there. */
  #ask() {
    if (this.#socket?.readyState !== WebSocket.OPEN) return
    if (Date.now() - this.#heard < SILENT_FOR) return this.#send('PING', '')
    const silent = this.#socket
    this.#socket = null // its own end may take minutes
    silent.close()
    this.#lost()
  }

  #send(method, payload) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ method, payload }))
  }

  #take({ event, payload }) {
    this.#heard = Date.now()
    if (event === 'error') return this.#refused(payload)
    for (const subject of [{ type: payload.type, id: payload.id }, { type: payload.type }]) {
      for (const handler of this.#handlers.get(JSON.stringify(subject)) ?? []) handler(payload.doc, event)
    }
  }

  #refused({ code }) {
    if (code === 'unauthorized') signedOut.dispatchEvent(new Event('signedout'))
  }
}
