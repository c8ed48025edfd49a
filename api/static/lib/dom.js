// Elements, made without innerHTML: what is text stays text.

/**
 * `h('button', { class: 'plain', onclick: close, disabled: true }, 'Close')`. Attributes that are false, null or
 * undefined are left out, and children too; a child may be a list.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) set(element, name, value)
  element.append(...children.flat().filter(isThere))
  return element
}

function set(element, name, value) {
  if (!isThere(value)) return
  if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
  else if (name === 'value' || name === 'checked') element[name] = value
  else element.setAttribute(name, value === true ? '' : value)
}

function isThere(value) {
  return value !== false && value !== null && value !== undefined
}

/** A button whose face is an icon: `label` is its name. */
export function iconButton(name, label, onclick, attributes = {}) {
  return h('button', { type: 'button', class: 'icon', title: label, 'aria-label': label, onclick, ...attributes }, icon(name))
}

export function button(label, onclick, attributes = {}) {
  return h('button', { type: 'button', onclick, ...attributes }, label)
}

/** A field with its label around it. */
export function field(label, input, hint) {
  return h('label', { class: 'field' }, h('span', { class: 'label' }, label), input, hint && h('span', { class: 'hint' }, hint))
}

let made = 0

/** An id that no other element of the page has. */
export function newId(prefix) {
  made += 1
  return `${prefix}-${made}`
}

/** 32 hexadecimal digits that nobody else has chosen. */
export function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const SVG = 'http://www.w3.org/2000/svg'
const PATHS = {
  add: 'M12 5v14M5 12h14',
  back: 'M15 5l-7 7 7 7',
  check: 'M5 13l4 4L19 7',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15V5h10',
  edit: 'M4 20l1-4L16 5l3 3L8 19z',
  failed: 'M12 5v9M12 18v1',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  folder: 'M3 6h6l2 2h10v11H3z',
  leave: 'M14 4h5v16h-5M4 12h10M10 8l4 4-4 4',
  link: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  memories: 'M6 3h12v18l-6-5-6 5z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  remove: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13',
  send: 'M12 20V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z'
}

/** A line drawing of 24 by 24, hidden from screen readers. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS(SVG, 'path')
  path.setAttribute('d', PATHS[name])
  svg.append(path)
  return svg
}

/** Tells screen readers something that the eye sees anyway. */
export function announce(text) {
  document.getElementById('announcer').textContent = text
}
