// What the user wrote.

import { h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

export function userMessage(message) {
  return h('article', { class: 'message user', 'aria-label': t('yourQuestion') }, h('p', { class: 'text', dir: 'auto' }, message.content))
}
