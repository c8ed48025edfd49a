// The params of an action, as fields that one can edit.

import { field, h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const LONG = 80 // characters: a longer text gets more than a line
const MOST_ROWS = 12

/**
 * `{element, read()}` of a param. `schema` is the property of the tool's definition, missing for an action that the page
 * does not know: what kind of value it has is seen by the value then.
 */
export function paramField(label, value, { schema, isLong, isRequired, isReadOnly } = {}) {
  const kind = KINDS[schema?.type] ?? kindOf(value)
  const input = kind.input(value, isLong)
  if (isReadOnly) lock(input)
  if (isRequired && input.type !== 'checkbox') input.required = true
  let isEdited = false // a value that nobody touched stays as it is, whatever the field makes of it
  input.addEventListener('input', () => (isEdited = true))
  const hint = schema?.['x-user-written'] && isEmpty(value) && t('onlyTyped')
  return { element: field(label, input, hint), read: () => (isEdited ? kind.read(input) : value) }
}

const text = { input: (value, isLong) => textInput(value ?? '', isLong), read: (input) => input.value }
const texts = { input: (value) => area((value ?? []).join('\n'), 1), read: (input) => split(input.value) }
const number = {
  input: (value) => h('input', { type: 'number', step: 'any', value: value ?? '' }),
  read: (input) => (input.value === '' ? null : input.valueAsNumber)
}
const box = { input: (value) => h('input', { type: 'checkbox', checked: value === true }), read: (input) => input.checked }
const other = { input: (value) => area(JSON.stringify(value, null, 2), 1), read: (input) => input.value }
const KINDS = { string: text, array: texts, number, integer: number, boolean: box }

function kindOf(value) {
  if (Array.isArray(value)) return texts
  return KINDS[typeof value] ?? (value === null ? text : other)
}

function textInput(value, isLong) {
  if (isLong || value.length > LONG || value.includes('\n')) return area(value, 3)
  return h('input', { type: 'text', dir: 'auto', value })
}

function area(value, fewestRows) {
  const rows = value.split('\n').reduce((sum, line) => sum + 1 + Math.floor(line.length / LONG), 0)
  return h('textarea', { dir: 'auto', rows: String(Math.min(Math.max(rows, fewestRows), MOST_ROWS)), value })
}

/** One a line, or behind a comma. */
function split(value) {
  return value.split(/[\n,;]/).map((part) => part.trim()).filter(Boolean)
}

function lock(input) {
  if (input.type === 'checkbox') input.disabled = true
  else input.readOnly = true
}

function isEmpty(value) {
  return value === null || value === undefined || value === '' || value.length === 0
}
