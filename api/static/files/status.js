// What became of a file in the index, in words.

import { places } from '../data/files.js'
import { h } from '../lib/dom.js'
import { date, said, t } from '../lib/i18n.js'

const MEDIA = ['image', 'video', 'audio']

/** 'indexed', 'waiting', 'error', 'refused' or 'duplicate'; of a file that has no status yet, 'waiting'. */
export function kindOf(status) {
  if (status?.duplicateOf && !status.reason) return 'duplicate' // what was refused later is not one any more
  return { success: 'indexed', error: 'error', notsupported: 'refused' }[status?.status] ?? 'waiting'
}

/** Whether a status keeps the file out of the index: such a file is among the problems. */
export function isObjection(status) {
  return !['indexed', 'waiting'].includes(kindOf(status))
}

/** An element that says it, with the file that a duplicate is one of. */
export function statusText(file, status) {
  const kind = kindOf(status)
  const text = kind === 'duplicate' ? originalOf(status.duplicateOf) : textOf(kind, file, status)
  return h('span', { class: `status ${kind}` }, text)
}

function textOf(kind, file, status) {
  if (kind === 'indexed') return t('statusIndexed', { date: date(status.lastSuccessDate) })
  if (kind === 'error') return t(status.indexed ? 'statusErrorSince' : 'statusError', { date: date(status.lastErrorDate) })
  return kind === 'refused' ? `${t('statusRefused')} ${why(status.reason ?? reasonOf(file))}` : t('statusWaiting')
}

function why(reason) {
  return said(`reason_${reason}`, '')
}

/** The reason of a status that has none. */
function reasonOf(file) {
  if (file.encrypted) return 'encrypted'
  return MEDIA.includes(file.class) ? 'media' : 'format'
}

function originalOf(id) {
  const link = h('a', { href: `#/file/${encodeURIComponent(id)}`, dir: 'auto' }, t('anotherFile'))
  place(id).then((file) => file && link.replaceChildren(file.path || file.name), () => {})
  return [h('span', {}, t('statusDuplicate'), ' '), link]
}

let ids = []
let found = null

/** The place of one file: all that are asked for at the same moment are asked for together. */
async function place(id) {
  ids.push(id)
  found ??= Promise.resolve().then(() => {
    const asked = ids
    ids = []
    found = null
    return places(asked)
  })
  return (await found).get(id)
}
