// The form of an assistant: its name, its prompt, its avatar, its folder.

import { avatar, scaled } from './avatar.js'
import { FolderField } from './folder_field.js'
import { folderOf, nameOf } from '../data/assistants.js'
import { button, field, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export class AssistantForm {
  #shown = { name: '', prompt: '', icon: null, folder: '' }
  #icon = null

  /** `save(fields)` is called with what the person changed. */
  constructor({ save, remove, say }) {
    this.name = h('input', { type: 'text', required: true, maxlength: '200', dir: 'auto', autocomplete: 'off', oninput: () => this.#showIcon() })
    this.prompt = h('textarea', { rows: '5', dir: 'auto' })
    this.folder = new FolderField(say)
    this.image = h('span', { class: 'image' })
    this.file = h('input', { type: 'file', accept: 'image/*', hidden: true, onchange: () => this.#take(say) })
    this.without = button(t('avatarRemove'), () => this.#setIcon(null))
    this.remove = button(t('removeIt'), remove, { class: 'danger' })
    this.submit = h('button', { type: 'submit', class: 'primary' }, t('save'))
    this.said = h('span', { class: 'hint', role: 'status' })
    this.element = h('form', { class: 'assistant-form', onsubmit: (event) => this.#submit(event, save) },
      field(t('name'), this.name), field(t('prompt'), this.prompt, t('promptHint')), this.#avatarField(), this.folder.element,
      h('div', { class: 'actions' }, this.submit, this.said, this.remove))
    this.#setIcon(null)
  }

  #avatarField() {
    return h('div', { class: 'field', role: 'group', 'aria-label': t('avatar') }, h('span', { class: 'label' }, t('avatar')),
      h('div', { class: 'actions' }, this.image, button(t('avatarChoose'), () => this.file.click()), this.file, this.without))
  }

  /** A document that is saved; without one, the form of a new assistant. */
  show(doc) {
    this.remove.hidden = !doc
    if (doc) this.#shown = { name: nameOf(doc), prompt: text(doc.prompt), icon: doc.icon ?? null, folder: folderOf(doc) ?? '' }
    this.name.value = this.#shown.name
    this.prompt.value = this.#shown.prompt
    this.folder.show(this.#shown.folder, !doc)
    this.#setIcon(this.#shown.icon)
  }

  say(told) {
    this.said.textContent = told
  }

  get #values() {
    return { name: this.name.value.trim(), prompt: this.prompt.value, icon: this.#icon, folder: this.folder.value }
  }

  async #submit(event, save) {
    event.preventDefault()
    this.name.value = this.name.value.trim()
    if (!this.element.reportValidity()) return
    const changed = Object.entries(this.#values).filter(([key, value]) => value !== this.#shown[key])
    this.submit.disabled = true
    this.say('')
    await save(Object.fromEntries(changed))
    this.submit.disabled = false
  }

  async #take(say) {
    const [file] = this.file.files
    this.file.value = ''
    try {
      if (file) this.#setIcon(await scaled(file))
    } catch (error) {
      say(error.message)
    }
  }

  #setIcon(icon) {
    this.#icon = icon
    this.without.hidden = !icon
    this.#showIcon()
  }

  #showIcon() {
    this.image.replaceChildren(avatar({ icon: this.#icon, name: this.name.value }))
  }
}

function text(value) {
  return typeof value === 'string' ? value : ''
}
