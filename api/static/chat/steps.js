// What the agent does before it answers: a chip for each call of a tool, from running to done or failed.

import { h, icon } from '../lib/dom.js'
import { said, t } from '../lib/i18n.js'
import { valueList } from '../lib/values.js'

const RUNNING = 'call'
const ICONS = { done: 'check', error: 'failed', stopped: 'stop' }

export class Steps {
  #steps = new Map() // by the ids of the calls

  constructor() {
    this.element = h('ul', { class: 'steps', 'aria-label': t('steps'), hidden: true })
  }

  /** `{id, name, status, detail}`, as a tool event has it; each may come again. */
  take(tool) {
    const id = tool.id ?? tool.name
    if (!this.#steps.has(id)) this.#steps.set(id, new Step(this.element))
    this.#steps.get(id).show(tool)
    this.element.hidden = false
  }

  /** The answer is over: what runs still was stopped. */
  end() {
    for (const step of this.#steps.values()) step.end()
  }
}

/** The same elements each time: who stands on one, or has opened it, stays there. */
class Step {
  #tool = {}

  constructor(list) {
    this.face = h('summary', { class: 'chip' })
    this.more = h('div')
    this.element = h('li', {}, h('details', {}, this.face, this.more))
    list.append(this.element)
  }

  show(tool) {
    if (this.#tool.status && tool.status === RUNNING) return
    this.#tool = tool
    const { name, status } = tool
    const detail = typeof tool.detail === 'object' && tool.detail ? tool.detail : {}
    const about = [detail.message, detail.query, detail.text].find((text) => text && typeof text === 'string')
    this.element.className = `step ${status}`
    this.face.replaceChildren(...[signOf(status), h('span', { class: 'unseen' }, `${said(`step_${status}`, status)}: `),
      h('span', { class: 'tool', dir: 'auto' }, said(`tool_${name}`, name)), about && h('span', { dir: 'auto' }, about)].filter(Boolean))
    this.more.replaceChildren(valueList(Object.entries(detail).filter(([key]) => key !== 'id')
      .map(([key, value]) => [said(`detail_${key}`, key), wordOf(key, value)])))
  }

  end() {
    if (this.#tool.status === RUNNING) this.show({ ...this.#tool, status: 'stopped' })
  }
}

function signOf(status) {
  return status in ICONS ? icon(ICONS[status]) : h('span', { class: 'turning', 'aria-hidden': 'true' })
}

/** A state of ours is said in the reader's language. */
function wordOf(key, value) {
  return key === 'status' ? said(`memory_${value}`, value) : value
}
