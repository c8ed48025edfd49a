// What an answer was made from: numbered chips, each of which opens its passage.

import { places } from '../data/files.js'
import { h } from '../lib/dom.js'
import { openDialog } from '../lib/dialog.js'
import { json, path } from '../lib/http.js'
import { t } from '../lib/i18n.js'

export function sourceChips(sources) {
  const chips = sources.map((source, index) => (source.sourceType === 'web' ? webChip(source, index) : fileChip(source, index)))
  nameFolders(sources, chips)
  const items = chips.map((chip) => h('li', {}, chip))
  return h('section', { class: 'sources', 'aria-label': t('sources') }, h('ol', {}, items))
}

function numbered(index) {
  return h('span', { class: 'number' }, String(index + 1))
}

function webChip(source, index) {
  const attributes = { class: 'chip', target: '_blank', rel: 'noopener noreferrer', title: source.snippet }
  if (/^https?:/i.test(source.url ?? '')) attributes.href = source.url
  return h('a', attributes, numbered(index), h('span', { dir: 'auto' }, source.title || source.url))
}

function fileChip(source, index) {
  const page = source.page && h('span', { class: 'page' }, t('page', { page: source.page }))
  return h('button', { type: 'button', class: 'chip', onclick: () => open(source) },
    numbered(index), h('span', { dir: 'auto' }, nameOf(source)), page)
}

function nameOf(source) {
  return source.filename || source['email.subject'] || source.id || t('document')
}

/** The folders are known a moment later: all of them are asked for at once. */
async function nameFolders(sources, chips) {
  const ids = sources.filter((source) => source.sourceType !== 'web' && source.id).map((source) => source.id)
  const found = await places(ids).catch(() => new Map())
  sources.forEach((source, index) => {
    const file = source.sourceType !== 'web' && found.get(source.id)
    if (file) chips[index].title = file.path
  })
}

/** The passage, with the file, the folder and the page it is from. */
async function open(source) {
  const where = h('p', { class: 'where', dir: 'auto' })
  const passage = h('blockquote', { class: 'passage', dir: 'auto', tabindex: '0', 'aria-busy': 'true' }, t('loading'))
  const file = source.id && h('a', { href: `#/file/${encodeURIComponent(source.id)}` }, t('openFile'))
  openDialog(nameOf(source), [where, passage], file ? [file] : [])
  passage.textContent = await passageOf(source)
  passage.setAttribute('aria-busy', 'false')
  where.textContent = [await folderOf(source), source.page && t('page', { page: source.page })].filter(Boolean).join(' · ')
}

async function passageOf(source) {
  const id = String(source.chunkUrl ?? '').split('/').filter(Boolean).at(-1)
  if (!id) return source['email.preview'] ?? t('noPassage')
  try {
    return (await json('GET', `/ai/extract${path(decodeURIComponent(id))}`)).page_content
  } catch (error) {
    return error.status === 404 ? t('noPassage') : error.message
  }
}

async function folderOf({ id }) {
  const found = await places(id ? [id] : []).catch(() => new Map())
  return found.get(id)?.folder
}
