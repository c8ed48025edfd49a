// Who is signed in: a token, which comes with a link (`/#token=...`) and does not stay in the address.

const KEY = 'ragcore.token'

/** Takes a token out of the address, if there is one: whether there was. */
export function takeToken() {
  const given = /^#token=(.+)$/.exec(location.hash)
  if (!given) return false
  localStorage.setItem(KEY, decodeURIComponent(given[1]))
  history.replaceState(null, '', '/')
  return true
}

export function token() {
  return localStorage.getItem(KEY)
}

export function signIn(text) {
  localStorage.setItem(KEY, text)
}

export function signOut() {
  localStorage.removeItem(KEY)
}
