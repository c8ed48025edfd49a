// A file, over what is shown.

import { statusText } from './status.js'
import { STATUSES, many } from '../data/documents.js'
import { download, places } from '../data/files.js'
import { openDialog } from '../lib/dialog.js'
import { button, h } from '../lib/dom.js'
import { bytes, date, t } from '../lib/i18n.js'
import { Markdown } from '../lib/markdown.js'

const LONGEST = 1 << 20 // bytes of a text that is shown

/** `onclose` is called when the person closed it, not when the page went elsewhere. */
export async function showFile(id, onclose) {
  const address = location.hash
  const { file, status, error } = await read(id)
  if (location.hash !== address) return
  if (!file) return opened(t('document'), h('p', { class: 'error' }, error ?? t('fileGone')), [], onclose)
  const isFile = file.type === 'file'
  const problem = h('p', { class: 'error', role: 'alert' })
  const actions = isFile ? [button(t('fileDownload'), () => save(file, problem), { class: 'primary' })] : []
  const said = isFile && (status ? statusText(file, status) : t('indexNone'))
  opened(file.name, [facts(file, said), problem, isFile && textOf(file)], actions, onclose)
}

async function read(id) {
  try {
    const [files, statuses] = await Promise.all([places([id]), many(STATUSES, [id])])
    return { file: files.get(id), status: statuses.get(id) }
  } catch (error) {
    return { error: error.message }
  }
}

function opened(title, content, actions, onclose) {
  let isElsewhere = false
  const leave = () => {
    isElsewhere = true
    dialog.close()
  }
  const dialog = openDialog(title, content, actions, () => {
    removeEventListener('hashchange', leave)
    if (!isElsewhere) onclose()
  })
  addEventListener('hashchange', leave)
}

function facts(file, status) {
  const rows = [
    [t('fileFolder'), file.trashed ? t('fileTrashed') : file.folder],
    [t('fileSize'), file.type === 'file' && bytes(Number(file.size))],
    [t('fileCreated'), date(file.created_at)],
    [t('fileChanged'), date(file.updated_at)],
    [t('fileIndex'), status]
  ]
  return h('dl', { class: 'facts' }, rows.filter(([, value]) => value)
    .map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', { dir: 'auto' }, value))))
}

/** The text of a file that is one, where it is not too long. */
function textOf(file) {
  if (!isText(file)) return null
  if (Number(file.size) > LONGEST) return h('p', { class: 'hint' }, t('fileTooLong'))
  const scrolls = { tabindex: '0', role: 'region', 'aria-label': file.name }
  const element = h('div', { class: 'text file-text', 'aria-busy': 'true', ...scrolls }, t('loading'))
  fill(element, file)
  return element
}

/** The class says `text` of office documents too: their bytes are none. */
function isText({ mime = '' }) {
  return mime.startsWith('text/') || /[/+](json|xml|yaml)$/.test(mime)
}

async function fill(element, file) {
  try {
    const text = await (await download(file._id)).text()
    element.replaceChildren()
    if (file.mime === 'text/markdown' || /\.(md|markdown)$/i.test(file.name)) new Markdown(element).set(text)
    else element.append(h('div', { class: 'plain', dir: 'auto' }, text))
  } catch (error) {
    element.replaceChildren(h('p', { class: 'error' }, error.message))
  }
  element.setAttribute('aria-busy', 'false')
}

/** The browser keeps what a link with a name for it points to. */
async function save(file, problem) {
  problem.textContent = ''
  try {
    const url = URL.createObjectURL(await download(file._id))
    h('a', { href: url, download: file.name }).click()
    setTimeout(() => URL.revokeObjectURL(url), 60_000)
  } catch (error) {
    problem.textContent = error.message
  }
}
