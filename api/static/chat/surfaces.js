// The ways in which questions are answered. A conversation stays with the one that it was begun with.

import { h, newId } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export const CHAT = 'chat'
const SURFACES = [CHAT, 'ask', 'agent']

/** The surface of a conversation; one that is marked with none that is known here is a chat. */
export function surfaceOf({ surface }) {
  if (surface === 'v1') return 'ask' // asked by a client of OpenAI's API: grounded, and so it goes on
  return SURFACES.includes(surface) ? surface : CHAT
}

/** The choice of one for a new conversation; of one that was begun it is said. `onchange(surface)` is told. */
export class SurfaceChoice {
  constructor(surface, onchange) {
    this.onchange = onchange
    const name = newId('surface')
    this.choice = h('fieldset', { class: 'surfaces' }, h('legend', { class: 'unseen' }, t('surface')),
      SURFACES.map((one) => this.#radio(name, one, one === surface)))
    this.said = h('span', { class: 'surface', hidden: true })
    this.elements = [this.choice, this.said]
    this.surface = surface
  }

  #radio(name, surface, checked) {
    const input = h('input', { type: 'radio', name, value: surface, checked, onchange: () => this.#choose(surface) })
    return h('label', { title: t(`surfaceHint_${surface}`) }, input, t(`surface_${surface}`))
  }

  #choose(surface) {
    this.surface = surface
    this.onchange(surface)
  }

  /** Whether there is a choice still; the chat is what nobody needs to be told of. */
  fix(isFixed, surface = this.surface) {
    this.choice.hidden = isFixed
    this.said.hidden = !isFixed || surface === CHAT
    this.said.textContent = t(`surface_${surface}`)
    this.said.title = t(`surfaceHint_${surface}`)
    if (surface !== this.surface) this.#choose(surface)
  }
}
