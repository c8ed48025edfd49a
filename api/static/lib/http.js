// Requests to the instance's API, with the token; what goes wrong is an error with a text for people.

import { t } from './i18n.js'
import { token } from './session.js'

const SAID = { 401: 'signedOut', 403: 'forbidden', 404: 'notFound', 409: 'conflict', 413: 'tooLarge', 429: 'tooMany', 503: 'unavailable' }

export class RequestError extends Error {
  constructor(message, status = 0) {
    super(message)
    this.status = status
  }
}

export const signedOut = new EventTarget() // 'signedout', when the API does not take the token any more
export const answered = new EventTarget() // 'left', with the share of the day's budget that a response tells of

/** The response, of a status below 400. Raises RequestError. `body` is sent as JSON, `content` as it is. */
export async function request(method, path, { body, content, type } = {}) {
  const shown = token()
  const headers = { Authorization: `Bearer ${shown}` }
  if (type ?? body) headers['Content-Type'] = type ?? 'application/json'
  let response
  try {
    response = await fetch(path, { method, headers, body: body ? JSON.stringify(body) : content })
  } catch {
    throw new RequestError(t('offline'))
  }
  tellLeft(response.headers.get('X-AI-Left'))
  if (response.ok) return response
  if (response.status === 401 && shown === token()) signedOut.dispatchEvent(new Event('signedout'))
  throw new RequestError(await said(response), response.status)
}

function tellLeft(header) {
  const detail = Number.parseFloat(header)
  if (Number.isFinite(detail)) answered.dispatchEvent(new CustomEvent('left', { detail }))
}

/** The JSON of a response, or null for an empty one. */
export async function json(method, path, options) {
  const response = await request(method, path, options)
  return response.status === 204 ? null : response.json()
}

/** Our own words where the status says it all, else the API's. */
async function said(response) {
  const key = SAID[response.status]
  if (key) return t(key)
  const { errors = [] } = await response.json().catch(() => ({}))
  return errors.map((error) => error.detail).filter(Boolean).join('; ') || t('failed', { status: response.status })
}

/** A path whose segments are ids, whatever these hold. */
export function path(...segments) {
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
}
