// The routes of a chat.

import { json, path, request } from '../lib/http.js'

/** Posts a message: the conversation with it, `{_rev, messages, relationships, ...}`. */
export async function post(conversationId, body) {
  const { data } = await json('POST', `/ai/chat/conversations${path(conversationId)}`, { body })
  return { ...data.attributes, _rev: data.rev }
}

/** Stops the answer to the last message. */
export function cancel(conversationId) {
  return request('POST', `/ai/chat/conversations${path(conversationId)}/cancel`)
}
