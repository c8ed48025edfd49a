// The lines of a list: folders to enter, and files with their status.

import { statusText } from '../files/status.js'
import { h, icon } from '../lib/dom.js'

export function folderRow({ _id, name }, onclick) {
  return h('li', { 'data-id': _id }, h('button', { type: 'button', class: 'entry', onclick }, icon('folder'), h('span', { dir: 'auto' }, name)))
}

/** `folder` is the path of what the file is in, where that is not said elsewhere. */
export function fileRow(file, status, folder) {
  return h('li', { 'data-id': file._id },
    h('a', { class: 'entry', href: `#/file/${encodeURIComponent(file._id)}` }, icon('file'), h('span', { dir: 'auto' }, file.name)),
    folder && h('span', { class: 'where', dir: 'auto' }, folder), statusText(file, status))
}

/** Shows rows in a list; who is on one of them stays there. */
export function fill(list, rows) {
  const id = list.contains(document.activeElement) && document.activeElement.closest('li')?.dataset.id
  list.replaceChildren(...rows)
  if (id) rows.find((row) => row.dataset.id === id)?.firstElementChild.focus()
}
