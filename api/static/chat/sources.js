// What an answer was made from: numbered chips, each of which opens its passage.

import { below, places } from '../data/files.js'
import { h } from '../lib/dom.js'
import { openDialog } from '../lib/dialog.js'
import { json, path } from '../lib/http.js'
import { t } from '../lib/i18n.js'
import { OUTSIDE, isWeb } from '../lib/links.js'

/** Of a grounded answer, those that it cites; null where there are none. */
export function sourceChips(sources) {
  const cited = sources.filter((source) => source.cited !== false)
  if (!cited.length) return null
  const chips = cited.map((source, index) => chip(source, isNumbered(source) ? source.number : index + 1))
  nameFolders(cited, chips)
  const items = chips.map((chip) => h('li', {}, chip))
  return h('section', { class: 'sources', 'aria-label': t('sources') }, h('ol', {}, items))
}

/** Whether it says itself which number it has; others may have written what is none. */
export function isNumbered({ number }) {
  return Number.isInteger(number)
}

function chip(source, number) {
  return source.sourceType === 'web' ? webChip(source, number) : sourceChip(source, number)
}

function numbered(number) {
  return h('span', { class: 'number' }, String(number))
}

function webChip(source, number) {
  const attributes = { class: 'chip', title: source.snippet, ...OUTSIDE }
  if (isWeb(source.url)) attributes.href = source.url
  return h('a', attributes, numbered(number), h('span', { dir: 'auto' }, source.title || source.url))
}

function sourceChip(source, number) {
  return h('button', { type: 'button', class: 'chip', onclick: () => openSource(source) },
    numbered(number), h('span', { dir: 'auto' }, nameOf(source)), pageOf(source) && h('span', { class: 'page' }, pageOf(source)))
}

function isMemory({ sourceType }) {
  return sourceType === 'memory'
}

function isFile({ sourceType, id }) {
  return id && sourceType !== 'web' && sourceType !== 'memory'
}

function nameOf(source) {
  if (isMemory(source)) return t('memory')
  return source.filename || source['email.subject'] || source.id || t('document')
}

function pageOf({ page }) {
  return page && t('page', { page })
}

/** What a citation is of. */
export function labelOf(source) {
  return [`${source.number}: ${nameOf(source)}`, pageOf(source)].filter(Boolean).join(', ')
}

/** The folders that are not told are known a moment later: all of them are asked for at once. */
async function nameFolders(sources, chips) {
  const unknown = sources.filter((source) => isFile(source) && !source.folder).map((source) => source.id)
  const found = await places(unknown).catch(() => new Map())
  sources.forEach((source, index) => {
    const title = titleOf(source, found)
    if (title) chips[index].title = title
  })
}

function titleOf(source, found) {
  if (isMemory(source)) return source.passage
  return isFile(source) && (source.folder ? `${below(source.folder)}${nameOf(source)}` : found.get(source.id)?.path)
}

/** The passage, with the file, the folder and the page it is from; or the memory. */
export async function openSource(source) {
  const where = h('p', { class: 'where', dir: 'auto' })
  const passage = h('blockquote', { class: 'passage', dir: 'auto', tabindex: '0', 'aria-busy': 'true' }, t('loading'))
  openDialog(nameOf(source), [where, passage], linksOf(source))
  passage.textContent = await passageOf(source)
  passage.setAttribute('aria-busy', 'false')
  where.textContent = [await folderOf(source), pageOf(source)].filter(Boolean).join(' · ')
}

function linksOf(source) {
  const leave = ({ target }) => target.closest('dialog').close()
  if (isMemory(source)) return [h('a', { href: '#/memories', onclick: leave }, t('openMemories'))]
  return isFile(source) ? [h('a', { href: `#/file/${encodeURIComponent(source.id)}` }, t('openFile'))] : []
}

async function passageOf(source) {
  if (typeof source.passage === 'string') return source.passage
  const id = String(source.chunkUrl ?? '').split('/').filter(Boolean).at(-1)
  if (!id) return source['email.preview'] ?? t('noPassage')
  try {
    return (await json('GET', `/ai/extract${path(decodeURIComponent(id))}`)).page_content
  } catch (error) {
    return error.status === 404 ? t('noPassage') : error.message
  }
}

async function folderOf(source) {
  if (source.folder || !isFile(source)) return source.folder
  const found = await places([source.id]).catch(() => new Map())
  return found.get(source.id)?.folder
}
