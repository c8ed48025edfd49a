// The folder that an assistant looks in: what is chosen, and the tree to choose from.

import { ALL_INDEXED, FolderTree } from './folders.js'
import { ROOT, addDirectory } from '../data/files.js'
import { pathOf } from '../data/folders.js'
import { asked } from '../lib/dialog.js'
import { button, h, icon, newId } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export class FolderField {
  #said

  constructor(say) {
    this.#said = say
    this.chosen = h('span', { class: 'chosen', dir: 'auto' })
    this.tree = new FolderTree(say)
    this.tree.addEventListener('change', () => this.#show())
    this.make = button(t('newFolder'), () => this.#make())
    const hint = newId('hint')
    this.tree.element.setAttribute('aria-describedby', hint)
    this.details = h('details', { class: 'folder-field' },
      h('summary', {}, h('span', { class: 'label' }, t('folder')), icon('folder'), this.chosen),
      h('p', { class: 'hint', id: hint }, t('folderHint')), this.tree.element, this.make)
    this.element = this.details
  }

  /** The id of the folder, or nothing for all that is indexed. */
  get value() {
    return this.tree.value
  }

  show(id, isOpen) {
    this.details.open = isOpen
    this.tree.value = id || ALL_INDEXED
    this.#show()
  }

  async #show() {
    const id = this.value
    this.make.disabled = id === ALL_INDEXED
    this.chosen.textContent = id ? '' : t('allFiles')
    if (!id) return
    const path = id === ROOT ? t('myFiles') : await pathOf(id).catch(() => '')
    if (id === this.value) this.chosen.textContent = path || t('folderGone')
  }

  async #make() {
    const parent = this.value
    const name = await asked(t('newFolder'), t('name'), '')
    if (!name) return
    try {
      this.tree.value = (await addDirectory(parent, name)).id
      this.#show()
    } catch (error) {
      this.#said(error.message)
    }
  }
}
