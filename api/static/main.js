// The beginning: somebody who has a token gets the page, everybody else is told how to get one.

import { App } from './app.js'
import { field, h } from './lib/dom.js'
import { signedOut } from './lib/http.js'
import { language, t } from './lib/i18n.js'
import { isLink, signIn, signOut, takeToken, token } from './lib/session.js'

const page = document.getElementById('page')
let app = null

document.documentElement.lang = language
takeToken()
setTimeout(show) // a task of its own, behind the one that reads the modules

addEventListener('hashchange', () => isLink(location.hash) && location.reload()) // which takes it: nobody else uses it before
addEventListener('storage', ({ key }) => (key === null || key.endsWith('.token')) && location.reload())
signedOut.addEventListener('signedout', () => {
  signOut()
  show(t('signedOut'))
})

function show(error = '') {
  app?.close()
  for (const dialog of document.querySelectorAll('dialog')) dialog.close() // nothing lies over who signs in
  app = token() ? new App() : null
  page.replaceChildren(app ? app.element : signInForm(error))
  app?.start()
}

function signInForm(error) {
  const input = h('input', { type: 'password', autocomplete: 'off', required: true, spellcheck: 'false' })
  const submit = (event) => {
    event.preventDefault()
    signIn(input.value.trim())
    show()
  }
  return h('main', { class: 'sign-in' }, h('h1', {}, t('signIn')), h('p', {}, t('signInHint')),
    h('form', { onsubmit: submit }, field(t('token'), input), h('button', { type: 'submit', class: 'primary' }, t('signInDo'))),
    h('p', { class: 'error', role: 'alert' }, error))
}
