// A memory, and what the person can do with it.

import { PENDING } from '../data/memories.js'
import { attempt } from '../lib/attempt.js'
import { asked, confirmed } from '../lib/dialog.js'
import { announce, button, h, iconButton } from '../lib/dom.js'
import { date, percent, t } from '../lib/i18n.js'

const LONGEST = 2000 // characters
const NAMED = 60 // of them, where a button is named after a memory
const ICON = { class: 'icon small' }

export function memoryRow(view, memory) {
  const { id, text, status } = memory
  const name = text.slice(0, NAMED)
  const { memories } = view
  // `does` gives nothing when the person thought better of it
  const act = (told, does) => attempt(async () => {
    view.say('')
    if (await does()) announce(t(told))
  }, (error) => view.say(error))
  const buttons = status === PENDING
    ? [button(t('approve'), () => act('approved', () => memories.approve(id)), { class: 'small primary' }),
      button(t('reject'), () => act('rejected', () => memories.reject(id)), { class: 'small' })]
    : [iconButton('remove', t('remove', { name }), () => act('memoryRemoved', () => remove(memories, memory)), ICON)]
  const edit = iconButton('edit', t('memoryEditOne', { name }), () => act('saved', () => rewrite(memories, memory)), ICON)
  return h('li', { class: 'memory' }, h('p', { dir: 'auto' }, text),
    h('div', { class: 'row' }, h('span', { class: 'hint' }, facts(memory)), h('span', { class: 'buttons' }, edit, buttons)))
}

/** When it was written, how sure the agent was, and where it comes from. */
function facts({ date: changed, confidence, source }) {
  const sure = Number.isFinite(confidence) && t('sure', { percent: percent(confidence) })
  const from = source?.conversation
  const link = from && typeof from === 'string' && h('a', { href: `#/c/${encodeURIComponent(from)}` }, t('conversation'))
  return [date(changed), sure, link].filter(Boolean).flatMap((fact, place) => (place ? [' · ', fact] : [fact]))
}

async function rewrite(memories, { id, text }) {
  const wanted = await asked(t('memoryEdit'), t('memory'), text, LONGEST)
  return wanted && wanted !== text && memories.rewrite(id, wanted)
}

async function remove(memories, { id, text }) {
  return (await confirmed(t('memoryRemoveTitle'), text, t('removeIt'))) && memories.remove(id)
}
