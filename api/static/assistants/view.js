// The view of an assistant.

import { h } from '../lib/dom.js'

export class AssistantView {
  constructor(app, id) {
    this.app = app
    this.id = id
    this.header = h('h1', {}, '')
    this.element = h('section', { class: 'assistant' })
  }

  open() {}

  close() {}
}
