// Who is signed in: a token, which comes with a link (`/#token=...`) and does not stay in the address.

const KEY = 'ragcore.token'

const LINK = /#token=(.+)$/

export function isLink(text) {
  return LINK.test(text)
}

/** Takes a token out of the address, if there is one. */
export function takeToken() {
  if (!isLink(location.hash)) return
  signIn(location.hash)
  history.replaceState(null, '', '/')
}

export function token() {
  return localStorage.getItem(KEY)
}

/** `text` is a link, or a token alone. */
export function signIn(text) {
  localStorage.setItem(KEY, LINK.exec(text)?.[1] ?? text)
}

export function signOut() {
  localStorage.removeItem(KEY)
}
