// Files that are added to the folder that is shown: dropped on it, or chosen. One after the other.

import { add } from '../data/files.js'
import { freeName, indexNow } from '../data/folders.js'
import { announce, button, h, icon } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export class Adding {
  #waiting = []
  #isRunning = false

  /** `list` shows the folder, of which `_id` is read when files come. */
  constructor(list, say) {
    this.list = list
    this.say = say
    this.file = h('input', { type: 'file', multiple: true, hidden: true, onchange: () => this.#chosen() })
    this.choose = h('button', { type: 'button', onclick: () => this.file.click() }, icon('add'), t('addFiles'))
    this.uploads = h('ul', { class: 'list uploads', 'aria-label': t('uploads') })
    this.zone = h('div', { class: 'drop' }, list.element, h('p', { class: 'drop-hint', 'aria-hidden': 'true' }, t('dropHere')))
    this.element = h('div', { class: 'adding' }, h('div', { class: 'actions' }, this.choose, this.file, h('span', { class: 'hint' }, t('dropHint'))),
      this.uploads, this.zone)
    acceptDrops(this.zone, (files, folders) => this.#dropped(files, folders))
  }

  #chosen() {
    const files = [...this.file.files]
    this.file.value = ''
    this.#add(files)
  }

  #dropped(files, folders) {
    this.say(folders ? t('noFolders') : '')
    this.#add(files)
  }

  #add(files) {
    const { _id: folder } = this.list.folder
    this.#waiting.push(...files.map((file) => new Upload(folder, file, (upload) => this.#again(upload))))
    this.uploads.append(...this.#waiting.map((upload) => upload.element))
    this.#run()
  }

  #again(upload) {
    this.#waiting.push(upload)
    this.#run()
  }

  async #run() {
    if (this.#isRunning) return
    this.#isRunning = true
    let added = 0
    while (this.#waiting.length) added += await this.#waiting.shift().run()
    this.#isRunning = false
    if (!added) return
    announce(t('added', { n: added }))
    await indexNow().catch((error) => this.say(error.message))
  }
}

class Upload {
  #keepsBoth = false

  constructor(folder, file, again) {
    this.folder = folder
    this.file = file
    this.again = again
    this.state = h('span')
    this.actions = h('span', { class: 'actions' })
    this.element = h('li', {}, h('span', { class: 'entry', dir: 'auto' }, file.name), this.state, this.actions)
    this.#say(t('uploadWaiting'))
  }

  /** How many were added. */
  async run() {
    this.#say(t('uploading'))
    try {
      return await this.#send()
    } catch (error) {
      this.#say(error.message, 'error', button(t('retry'), () => this.#runAgain(), { class: 'small' }))
      return 0
    }
  }

  /** A name that is taken is found before all of the content is sent. */
  async #send() {
    const name = await freeName(this.folder, this.file.name)
    if (name !== this.file.name && !this.#keepsBoth) return this.#offer(name)
    await add(this.folder, name, this.file)
    this.element.remove()
    return 1
  }

  #offer(name) {
    const keep = button(t('keepBoth', { name }), () => this.#keepBoth(), { class: 'small' })
    this.#say(t('uploadTaken'), 'refused', keep)
    return 0
  }

  #keepBoth() {
    this.#keepsBoth = true
    this.#runAgain()
  }

  #runAgain() {
    this.#say(t('uploadWaiting'))
    this.again(this)
  }

  /** With an action, it waits for the person, who may leave the file out as well. */
  #say(text, kind = 'waiting', action) {
    this.state.textContent = text
    this.state.className = `status ${kind}`
    this.actions.replaceChildren()
    if (!action) return
    this.actions.append(action, button(t('uploadLeave'), () => this.element.remove(), { class: 'small' }))
    announce(`${this.file.name}: ${text}`)
  }
}

/** `take(files, hasFolders)`: a browser gives a folder as a file that cannot be read. */
function acceptDrops(element, take) {
  const carriesFiles = (event) => event.dataTransfer?.types.includes('Files')
  const show = (isOver) => element.classList.toggle('dropping', isOver)
  element.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    show(true)
  })
  element.addEventListener('dragleave', (event) => element.contains(event.relatedTarget) || show(false))
  element.addEventListener('drop', (event) => {
    if (!carriesFiles(event)) return
    event.preventDefault()
    show(false)
    const items = [...event.dataTransfer.items].filter((item) => item.kind === 'file')
    const files = items.filter((item) => !item.webkitGetAsEntry?.()?.isDirectory).map((item) => item.getAsFile())
    take(files.filter(Boolean), files.length < items.length)
  })
}
