// Regular expressions that CouchDB (PCRE, which may count in bytes) and PouchDB (JavaScript) read alike.

/** Finds a text as it is, in upper or lower case, however its accents are written. */
export function pattern(text) {
  return [...text.normalize('NFC')].map(either).join('')
}

function either(character) {
  const cases = [character, character.toLowerCase(), character.toUpperCase()]
  const forms = [...new Set(cases.flatMap((form) => [form, form.normalize('NFD')]))]
  if (forms.length === 1) return character.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')
  // a class would hold the single bytes of what is not ASCII
  return forms.every((form) => /^[a-z]$/i.test(form)) ? `[${forms.join('')}]` : `(?:${forms.join('|')})`
}
