// Values that others gave, as people read them: always text.

import { h } from './dom.js'

/** A list of `[name, value]`; what is empty is left out. */
export function valueList(entries) {
  return h('dl', {}, entries.filter(([, value]) => shown(value)).map(([name, value]) =>
    h('div', {}, h('dt', {}, name), h('dd', { dir: 'auto' }, shown(value)))))
}

function shown(value) {
  if (Array.isArray(value)) return value.map(shown).join(', ')
  return typeof value === 'object' ? value && JSON.stringify(value) : String(value)
}
