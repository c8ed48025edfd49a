// Markdown of an assistant, block by block: what is whole is shown once and stays, only the last block is made anew.
//
// What a model writes is never trusted: HTML in it is shown as text, pictures become links (they would be requests to
// others), and what is left goes through DOMPurify.

import DOMPurify from '../vendor/purify.es.mjs'
import { Marked } from '../vendor/marked.esm.js'
import { h } from './dom.js'
import { OUTSIDE } from './links.js'

const BUDGET = 12 // ms of a frame, for all texts together
const TOGETHER = 1500 // characters that are made into elements at once
const RESTS = 3 // times what the last block took, before it is made again

const marked = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => (/^<br\s*\/?>$/i.test(text.trim()) ? '<br>' : escaped(text)),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`
  }
})

const ALLOWED = {
  ALLOWED_TAGS: 'a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr input li ol p pre strong table tbody td th thead tr ul'.split(' '),
  ALLOWED_ATTR: ['align', 'checked', 'class', 'disabled', 'href', 'start', 'title', 'type'],
  ALLOWED_URI_REGEXP: /^(https?|mailto):/i,
  RETURN_DOM_FRAGMENT: true
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** With the line ends that the lexer counts with. */
function unix(text) {
  return text.replace(/\r\n?/g, '\n')
}

/** The blocks of a text. What is nested deeper than the stack can follow stays as it was written. */
function lexed(text) {
  try {
    return marked.lexer(text)
  } catch {
    return plain(text)
  }
}

function plain(text) {
  return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text, escaped: false }] }]
}

function html(tokens) {
  try {
    return marked.parser(tokens)
  } catch {
    return marked.parser(plain(tokens.map((token) => token.raw).join('')))
  }
}

/** The elements of one or more blocks. */
function render(tokens) {
  const fragment = DOMPurify.sanitize(html(tokens), ALLOWED)
  for (const link of fragment.querySelectorAll('a')) Object.assign(link, OUTSIDE)
  for (const box of fragment.querySelectorAll('input')) box.type === 'checkbox' ? (box.disabled = true) : box.remove()
  for (const pre of fragment.querySelectorAll('pre')) pre.tabIndex = 0 // it scrolls
  for (const table of fragment.querySelectorAll('table')) {
    const around = h('div', { class: 'table', tabindex: '0' })
    table.replaceWith(around)
    around.append(table)
  }
  for (const block of fragment.children) block.dir = 'auto'
  return fragment
}

const waiting = new Set() // texts to be shown: the frames share them out among themselves
let frame = 0

function showSoon(text) {
  waiting.add(text)
  frame ||= requestAnimationFrame(showWaiting)
}

/** The last ones first: they are in sight when a conversation is opened. */
function showWaiting() {
  frame = 0
  const until = performance.now() + BUDGET
  for (const text of [...waiting].reverse()) {
    if (performance.now() > until) break
    waiting.delete(text)
    if (!text.show(until)) waiting.add(text)
  }
  if (waiting.size) frame = requestAnimationFrame(showWaiting)
}

/** Blocks that are made in one go: each go costs something, and a long one too much. */
function groups(tokens) {
  const found = []
  let size = Infinity
  for (const token of tokens) {
    if (size + token.raw.length > TOGETHER) size = found.push([]) && 0
    found.at(-1).push(token)
    size += token.raw.length
  }
  return found
}

/** A text that grows, in an element; `onrender` is called after each change of it. */
export class Markdown {
  #text = ''
  #stable = 0 // what is before this place is whole, and shown
  #last = [] // the nodes of the block that may still grow
  #timer = 0
  #rest = 0

  constructor(element, onrender = () => {}) {
    this.element = element
    this.onrender = onrender
  }

  get text() {
    return this.#text
  }

  append(text) {
    this.#text += unix(text)
    this.#soon()
  }

  /** Another text, as when an answer is told from its beginning: where it only grew, nothing is shown twice. */
  set(given) {
    const text = unix(given)
    if (text === this.#text) return
    if (!text.startsWith(this.#text)) this.#clear()
    this.#text = text
    this.#soon()
  }

  #clear() {
    this.element.replaceChildren()
    this.#stable = 0
    this.#last = []
  }

  #soon() {
    if (this.#rest <= 16) return showSoon(this)
    this.#timer ||= setTimeout(() => {
      this.#timer = 0
      showSoon(this)
    }, this.#rest)
  }

  /** As many blocks as fit in before a time: whether that was all. */
  show(until) {
    const began = performance.now()
    const tokens = lexed(this.#text.slice(this.#stable))
    const whole = tokens.findLastIndex((token) => token.type !== 'space')
    for (const node of this.#last) node.remove()
    this.#last = []
    for (const group of groups(tokens.slice(0, Math.max(whole, 0)))) {
      if (performance.now() > until) return this.#shown(began, false)
      this.element.append(render(group))
      this.#stable += group.reduce((length, token) => length + token.raw.length, 0)
    }
    const tail = render(tokens.slice(Math.max(whole, 0)))
    this.#last = [...tail.childNodes]
    this.element.append(tail)
    return this.#shown(began, true)
  }

  #shown(began, isWhole) {
    this.#rest = (performance.now() - began) * RESTS
    this.onrender()
    return isWhole
  }
}
