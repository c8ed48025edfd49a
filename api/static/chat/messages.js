// Messages as the page reads them. Other clients write conversations too, and models the params of actions: what is not
// of its kind is left out, so that the rest is shown.

import { toolOf } from './tools.js'

export function messagesOf({ messages }) {
  return list(messages).filter((message) => message?.id && typeof message.id === 'string').map(readable)
}

function readable(message) {
  const { content, reasoning, sources, action } = message
  return {
    ...message, content: text(content), reasoning: text(reasoning), sources: list(sources).filter(isObject),
    action: actionOf(action), tokens: tokensOf(message)
  }
}

/** What the model counted for an answer; 0 where it did not. */
function tokensOf({ usage }) {
  const tokens = usage?.total_tokens
  return Number.isFinite(tokens) && tokens > 0 ? tokens : 0
}

/** The action, its params of the kinds that its tool declares; undefined where there is none. */
export function actionOf(action) {
  if (typeof action?.name !== 'string') return undefined
  const properties = toolOf(action)?.definition.parameters.properties ?? {}
  const params = isObject(action.params) ? Object.entries(action.params) : []
  return { ...action, params: Object.fromEntries(params.map(([name, value]) => [name, fitted(value, properties[name])])) }
}

function fitted(value, schema) {
  if (value === null) return null
  if (schema?.type === 'string') return written(value)
  return schema?.type === 'array' ? [value].flat().map(written) : value
}

function written(value) {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function text(value) {
  return typeof value === 'string' ? value : ''
}

function list(value) {
  return Array.isArray(value) ? value : []
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
