// What became of an action, on its card.

import { labelOf, toolOf } from './tools.js'
import { h, icon } from '../lib/dom.js'
import { t } from '../lib/i18n.js'
import { OUTSIDE, isWeb } from '../lib/links.js'
import { Markdown } from '../lib/markdown.js'
import { valueList } from '../lib/values.js'

/** What the action is, for people. */
export function titleOf(action) {
  const tool = toolOf(action)
  return tool ? t(tool.title) : t('actionTitle', { name: action.name })
}

/** `result` is the message of what was given back, if anything was. */
export function outcomeOf(action, result) {
  const isDone = action.status !== 'cancelled'
  return h('div', { class: 'outcome' }, h('h3', {}, titleOf(action)),
    h('p', { class: `state ${stateOf(isDone, result)}` }, said(action, isDone, result), isDone && linkTo(action.url)),
    isDone && toolOf(action)?.after?.(action.params ?? {}),
    result && folded(t('actionResult'), markdown(result.content)),
    folded(t('actionDetails'), paramList(action)))
}

function stateOf(isDone, result) {
  if (result?.result.ok === false) return 'failed'
  return isDone ? 'done' : 'cancelled'
}

function said(action, isDone, result) {
  if (!isDone) return t('dismissed')
  if (result?.result.ok === false) return t('actionFailed')
  return t(toolOf(action)?.done ?? 'actionDone')
}

/** To a file of ours it opens over the conversation. */
function linkTo(url) {
  if (!isWeb(url)) return null
  const { origin, hash } = new URL(url)
  if (origin === location.origin && hash.startsWith('#/')) return h('a', { href: hash }, icon('file'), t('open'))
  return h('a', { href: url, ...OUTSIDE }, icon('link'), t('open'))
}

function folded(title, content) {
  return h('details', {}, h('summary', {}, title), content)
}

function markdown(text) {
  const element = h('div', { class: 'text' })
  new Markdown(element).set(text ?? '')
  return element
}

function paramList(action) {
  return valueList(Object.entries(action.params ?? {}).map(([name, value]) => [labelOf(action, name), value]))
}
