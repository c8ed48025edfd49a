// The texts of the page in the reader's language, and dates as their browser writes them.

import { catalogue } from './catalogue.js'

export const LANGUAGES = { en: 'English', fr: 'Français' }
const KEY = 'ragcore.language'

export const language = chosen()
const place = Object.keys(LANGUAGES).indexOf(language)
const plural = new Intl.PluralRules(language)

function chosen() {
  const wanted = [localStorage.getItem(KEY), ...navigator.languages]
  return wanted.map((tag) => tag?.slice(0, 2)).find((tag) => tag in LANGUAGES) ?? 'en'
}

/** Reads the page again in another language. */
export function choose(tag) {
  localStorage.setItem(KEY, tag)
  location.reload()
}

/** The text of a key. `{name}` in it is a value; of `one|many` the part that fits `n` is taken. */
export function t(key, values = {}) {
  const parts = catalogue[key][place].split('|')
  const text = parts.length > 1 && plural.select(values.n) !== 'one' ? parts[1] : parts[0]
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name])
}

/** The text of a key that may not be in the catalogue. */
export function said(key, otherwise) {
  return key in catalogue ? t(key) : otherwise
}

const when = new Intl.DateTimeFormat(navigator.languages, { dateStyle: 'medium', timeStyle: 'short' })

/** A date of a document (ISO 8601) for people; nothing for what is none. */
export function date(text) {
  const time = new Date(text ?? NaN)
  return Number.isNaN(time.getTime()) ? '' : when.format(time)
}

const numbers = new Intl.NumberFormat(navigator.languages)

export function number(value) {
  return numbers.format(value)
}

const short = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 })

/** A number of which only the size counts: `2.4K`. */
export function roughly(value) {
  return short.format(value)
}

const shares = new Intl.NumberFormat(navigator.languages, { style: 'percent' })

/** A share, from 0 to 1, in whole percents, never more than there is. */
export function percent(share) {
  return shares.format(Math.floor(share * 100 + 1e-9) / 100)
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']

/** A size for people; nothing for what is none. */
export function bytes(size) {
  if (!Number.isFinite(size)) return ''
  const power = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), UNITS.length - 1)
  const options = { style: 'unit', unit: UNITS[power], unitDisplay: power ? 'short' : 'long', maximumFractionDigits: 1 }
  return new Intl.NumberFormat(navigator.languages, options).format(size / 1000 ** power)
}
