// The routes of conversations.

import { CHAT } from './surfaces.js'
import { CONVERSATIONS, get } from '../data/documents.js'
import { json, path, request } from '../lib/http.js'

const GROUNDED = { ask: ['/api/rag/ask', 'question'], agent: ['/api/agent/chat', 'message'] } // routes, and where the text goes

/** Asks something on a surface: the conversation with the question, as it is stored. Raises RequestError. */
export async function ask(surface, conversationId, text, options) {
  if (surface === CHAT) return post(conversationId, { q: text, ...options })
  const [route, field] = GROUNDED[surface]
  const { assistantID } = options
  const response = await request('POST', route, { body: { [field]: text, conversationId, assistantID } })
  await response.body.cancel() // its events come over the websocket as well, and there again after a reload
  return get(CONVERSATIONS, conversationId)
}

/** Posts a message of a chat: the same. */
export async function post(conversationId, body) {
  const { data } = await json('POST', `/ai/chat/conversations${path(conversationId)}`, { body })
  return { ...data.attributes, _rev: data.rev, relationships: related(data.attributes) }
}

/** The relationship as the stored document has it. */
function related({ relationships }) {
  const id = relationships?.assistant?.data?.id
  return id ? { assistant: { data: { _id: id } } } : {}
}

/** Stops the answer to the last message. */
export function cancel(conversationId) {
  return request('POST', `/ai/chat/conversations${path(conversationId)}/cancel`)
}
