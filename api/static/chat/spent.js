// The card in place of an answer when the day's budget is spent.

import { h } from '../lib/dom.js'
import { date, t } from '../lib/i18n.js'
import { OUTSIDE, isWeb } from '../lib/links.js'

/** `{resetAt, plan, upgradeUrl}`, as the error event has them. */
export function spentCard({ resetAt, plan, upgradeUrl }) {
  const when = date(resetAt)
  return h('section', { class: 'spent', role: 'alert' }, h('h3', {}, t('spent')),
    when && h('p', {}, t('spentUntil', { date: when })),
    plan && typeof plan === 'string' && h('p', { class: 'hint', dir: 'auto' }, t('plan', { plan })),
    isWeb(upgradeUrl) && h('p', {}, h('a', { class: 'upgrade', href: upgradeUrl, ...OUTSIDE }, t('upgrade'))))
}
