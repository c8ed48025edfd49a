// Dialogs: the browser's own element, which keeps the focus inside, closes with Esc and gives the focus back.

import { button, h, iconButton, newId } from './dom.js'
import { t } from './i18n.js'

/** Shows a dialog: the element. It is gone once it is closed; `onclose` is told. */
export function openDialog(title, content, actions = [], onclose = () => {}) {
  const id = newId('title')
  const close = () => dialog.close()
  const dialog = h('dialog', { 'aria-labelledby': id },
    h('header', {}, h('h2', { id, dir: 'auto' }, title), iconButton('close', t('close'), close)),
    h('div', { class: 'content' }, content),
    actions.length > 0 && h('footer', {}, actions))
  dialog.addEventListener('close', () => {
    dialog.remove()
    onclose()
  })
  dialog.addEventListener('click', (event) => event.target === dialog && close())
  document.body.append(dialog)
  dialog.showModal()
  return dialog
}

/** Asks before something is lost: whether the person agreed. */
export function confirmed(title, text, doIt) {
  return new Promise((resolve) => {
    const answer = (value) => {
      resolve(value)
      dialog.close()
    }
    const actions = [button(t('cancel'), () => answer(false)), button(doIt, () => answer(true), { class: 'danger' })]
    const dialog = openDialog(title, h('p', { dir: 'auto' }, text), actions, () => resolve(false))
  })
}

const LINE = 200 // characters

/** Asks for a text: the text, or null. One that may be longer than a line gets more room. */
export function asked(title, label, value, longest = LINE) {
  return new Promise((resolve) => {
    const attributes = { value, dir: 'auto', maxlength: String(longest), required: true, 'aria-label': label }
    const input = longest > LINE ? h('textarea', { ...attributes, rows: '5' }) : h('input', { ...attributes, type: 'text' })
    const form = h('form', { method: 'dialog', id: newId('form'), onsubmit: () => resolve(input.value.trim() || null) }, input)
    const save = h('button', { type: 'submit', class: 'primary', form: form.id }, t('save'))
    const dialog = openDialog(title, form, [button(t('cancel'), () => dialog.close()), save], () => resolve(null))
    if (longest > LINE) input.focus()
    else input.select()
  })
}
