// The view of an assistant: its form, and the index of its folder.

import { made, edited } from './document.js'
import { AssistantForm } from './form.js'
import { FolderIndex } from './index.js'
import { folderOf, nameOf } from '../data/assistants.js'
import { ASSISTANTS, create, many, remove, update } from '../data/documents.js'
import { indexNow } from '../data/folders.js'
import { confirmed } from '../lib/dialog.js'
import { announce, button, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export class AssistantView {
  constructor(app, id) {
    this.app = app
    this.id = id
    this.title = h('h1', { dir: 'auto' }, id ? '' : t('newAssistant'))
    this.talk = button(t('talk'), () => this.#talk(), { class: 'primary', hidden: true })
    this.header = h('div', { class: 'assistant-header' }, this.title, this.talk)
    this.error = h('p', { class: 'error', role: 'alert', hidden: true })
    const say = (text) => this.say(text)
    this.form = new AssistantForm({ say, save: (fields) => this.#try(() => this.#save(fields)), remove: () => this.#try(() => this.#remove()) })
    this.place = h('div')
    this.element = h('section', { class: 'assistant-view' }, h('div', { class: 'column' }, this.error, this.form.element, this.place))
    for (const type of ['dragover', 'drop']) this.element.addEventListener(type, keepPage)
    this.onchange = () => this.#changed()
    app.assistants.addEventListener('change', this.onchange)
  }

  open() {
    if (this.id) return this.#try(() => this.#load())
    this.form.show()
    this.form.name.focus()
  }

  close() {
    this.app.assistants.removeEventListener('change', this.onchange)
    this.index?.close()
  }

  say(text) {
    this.error.textContent = text
    this.error.hidden = !text
    if (text) this.error.scrollIntoView({ block: 'nearest' })
  }

  async #try(act) {
    this.say('')
    try {
      await act()
    } catch (error) {
      this.say(error.message)
    }
  }

  async #load() {
    const doc = (await many(ASSISTANTS, [this.id])).get(this.id)
    if (!doc) throw new Error(t('notFound'))
    this.form.show(doc)
    this.#show(doc)
  }

  #show(doc) {
    if (this.app.view !== this) return // it was closed meanwhile: an index would be followed for nobody
    this.title.textContent = nameOf(doc)
    this.talk.hidden = false
    const folder = folderOf(doc)
    if (this.index && this.folder === folder) return
    this.folder = folder
    this.index?.close()
    this.index = folder ? new FolderIndex(this.app, folder, (text) => this.say(text)) : null
    this.place.replaceChildren(this.index ? this.index.element : h('p', { class: 'hint' }, t('indexOfAll')))
    this.index?.open()
  }

  /** Somebody saved it: the form stays as it is, in case a person is writing there. */
  #changed() {
    const doc = this.id && this.app.assistants.get(this.id)
    if (doc && !this.talk.hidden) this.#show(doc)
  }

  async #save(fields) {
    const doc = this.id ? await update(ASSISTANTS, this.id, (saved) => edited(saved, fields)) : await create(ASSISTANTS, made(fields))
    if ('folder' in fields) await indexNow()
    this.#saved(doc)
    this.form.show(doc)
    this.form.say(t('saved'))
    this.#show(doc)
  }

  #saved({ _id }) {
    if (this.id) return
    this.id = _id
    if (this.app.view !== this) return // somebody went elsewhere meanwhile
    history.replaceState(null, '', `#/a/${encodeURIComponent(_id)}`)
    this.app.opened(_id)
  }

  async #remove() {
    const name = this.title.textContent
    if (!(await confirmed(t('removeAssistantTitle'), t('removeText', { name }), t('removeIt')))) return
    const doc = (await many(ASSISTANTS, [this.id])).get(this.id)
    if (doc) await remove(ASSISTANTS, doc)
    if (this.app.lastAssistant === this.id) this.app.lastAssistant = ''
    announce(t('removed', { name }))
    if (this.app.view === this) location.hash = '#/'
  }

  #talk() {
    this.app.lastAssistant = this.id
    location.hash = '#/'
  }
}

/** A file that misses the folder does not open in place of the page. */
function keepPage(event) {
  event.preventDefault()
}
