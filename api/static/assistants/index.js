// The index of an assistant's folder: how far it is, what is in the folder, what is not indexed and why.

import { Adding } from './adding.js'
import { FolderList } from './listing.js'
import { Problems } from './problems.js'
import { Progress } from './progress.js'
import { pathOf } from '../data/folders.js'
import { attempt } from '../lib/attempt.js'
import { h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export class FolderIndex {
  #opened = []

  constructor({ realtime }, folder, say) {
    this.realtime = realtime
    this.folder = folder
    this.say = say
    this.element = h('section', { class: 'index', 'aria-label': t('index') }, h('h2', {}, t('index')))
    this.onopen = () => this.#opened.forEach((part) => this.#try(() => part.load()))
  }

  async open() {
    this.realtime.addEventListener('open', this.onopen) // what changed while the connection was lost
    await this.#try(() => this.#open())
  }

  async #open() {
    const path = await pathOf(this.folder)
    if (!path) throw new Error(t('folderGone'))
    const { realtime, say } = this
    const list = new FolderList({ realtime, folder: { _id: this.folder, path }, say })
    const progress = new Progress(realtime, this.folder)
    const problems = new Problems({ realtime, path, say })
    const adding = new Adding(list, say)
    this.#opened = [progress, list, problems]
    this.element.append(...progress.elements, problems.element, adding.element)
    if (this.isClosed) return this.close()
    await Promise.all(this.#opened.map((part) => this.#try(() => part.open())))
  }

  close() {
    this.isClosed = true
    this.realtime.removeEventListener('open', this.onopen)
    for (const part of this.#opened) part.close()
  }

  #try(act) {
    return attempt(act, (text) => this.isClosed || this.say(text))
  }
}
