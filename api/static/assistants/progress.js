// How far the walk through a folder is.

import { followJobs, walkOf } from '../data/folders.js'
import { announce, h, newId } from '../lib/dom.js'
import { number, t } from '../lib/i18n.js'

const OVER = ['done', 'errored']

export class Progress {
  #job = ''
  #total = 0
  #stop = () => {}

  constructor(realtime, folder) {
    this.realtime = realtime
    this.folder = folder
    const id = newId('progress')
    this.bar = h('progress', { 'aria-labelledby': id })
    this.label = h('span', { id })
    this.walking = h('div', { class: 'walking', hidden: true }, this.label, this.bar)
    this.result = h('p', { class: 'hint', hidden: true })
    this.elements = [this.walking, this.result]
  }

  open() {
    this.#stop = followJobs(this.realtime, (job, verb) => this.#take(job, verb))
    return this.load()
  }

  close() {
    this.#stop()
  }

  async load() {
    const job = await walkOf(this.folder)
    if (job) this.#begin(job)
    else if (this.#job) this.#end('done')
  }

  #take(job, verb) {
    if (verb === 'NOTIFIED') return this.#tell(job)
    if (job.message?.reconcile_dir_id !== this.folder || verb === 'DELETED') return
    if (!OVER.includes(job.state)) this.#begin(job._id)
    else if (this.#job === job._id) this.#end(job.state)
  }

  #begin(job) {
    if (this.#job === job) return
    this.#job = job
    this.#total = 0
    this.bar.removeAttribute('value')
    this.label.textContent = t('walking')
    this.walking.hidden = false
    this.result.hidden = true
  }

  /** `total` is what was found so far. It may be told before the document of the job is. */
  #tell({ _id, dir_id: folder, done, total }) {
    if (folder === this.folder) this.#begin(_id)
    if (_id !== this.#job) return
    this.#total = done
    this.bar.max = Math.max(total, 1)
    this.bar.value = done
    this.label.textContent = t('walkedSoFar', { done: number(done), total: number(total), n: total })
  }

  #end(state) {
    this.#job = ''
    this.walking.hidden = true
    this.result.textContent = this.#told(state)
    this.result.hidden = false
    announce(this.result.textContent)
  }

  #told(state) {
    if (state === 'errored') return t('walkFailed')
    return this.#total ? t('walkedAll', { files: number(this.#total), n: this.#total }) : t('walked')
  }
}
