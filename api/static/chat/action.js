// The card of an action that the assistant proposes.

import { h } from '../lib/dom.js'

/** `message` is the assistant's: `{id, action}`. */
export function actionCard(chat, message) {
  return h('section', { class: 'action' }, message.action.name)
}
