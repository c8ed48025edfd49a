// Avatars: base64 in `icon`, of an SVG or of a raster image. They are only ever shown as images, in which no script runs.

import { nameOf } from '../data/assistants.js'
import { h } from '../lib/dom.js'
import { t } from '../lib/i18n.js'

const LARGEST = 128 // pixels
const RASTER = { iVBORw0KGgo: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' }

/** The image of an assistant, else its first letter. It says nothing to screen readers: the name stands beside it. */
export function avatar(assistant) {
  const url = avatarUrl(assistant.icon)
  const [letter = ''] = nameOf(assistant).trim()
  const initial = h('span', { class: 'avatar', 'aria-hidden': 'true' }, letter.toUpperCase())
  if (!url) return initial
  return h('img', { class: 'avatar', src: url, alt: '', onerror: ({ target }) => target.replaceWith(initial) })
}

function avatarUrl(icon) {
  const data = typeof icon === 'string' ? icon.replace(/^data:image\/[\w.+-]+;base64,/, '').replace(/\s/g, '') : ''
  const type = data && typeOf(data)
  return type && `data:image/${type};base64,${data}`
}

function typeOf(data) {
  const begin = Object.keys(RASTER).find((bytes) => data.startsWith(bytes))
  if (begin) return RASTER[begin]
  try {
    return /^[^<]{0,3}\s*</.test(atob(data).slice(0, 100)) ? 'svg+xml' : ''
  } catch {
    return ''
  }
}

/** An image file made small enough for a document: base64. Raises an Error for people when it is no image. */
export async function scaled(file) {
  const image = new Image()
  image.src = URL.createObjectURL(file)
  try {
    await image.decode()
    return drawn(image)
  } catch {
    throw new Error(t('noImage'))
  } finally {
    URL.revokeObjectURL(image.src)
  }
}

function drawn(image) {
  const [width, height] = [image.naturalWidth || LARGEST, image.naturalHeight || LARGEST]
  const scale = Math.min(1, LARGEST / Math.max(width, height))
  const canvas = h('canvas')
  canvas.width = Math.max(1, Math.round(width * scale))
  canvas.height = Math.max(1, Math.round(height * scale))
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height)
  const url = canvas.toDataURL('image/webp', 0.9) // a PNG where the browser writes no WebP
  return url.slice(url.indexOf(',') + 1)
}
