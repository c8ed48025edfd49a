// The actions that this page can run, as the tools of the request.

import { email } from './tools/email.js'
import { note } from './tools/note.js'
import { search } from './tools/search.js'
import { t } from '../lib/i18n.js'

// Each has its `definition`, keys of texts (`title`, `confirm`, `done`, `labels` of its params), the names of the params
// that are `long`, and `run(params)`, which gives `{url, result}`, both optional. It may have `after(params)`, elements
// for a card that is done, and says whether it `givesResult`.
const KNOWN = new Map([note, email, search].map((tool) => [tool.definition.name, tool]))

export const TOOLS = [...KNOWN.values()].map((tool) => tool.definition)

/** What a param of an action is called. */
export function labelOf(action, name) {
  const { labels = {} } = toolOf(action) ?? {}
  return Object.hasOwn(labels, name) ? t(labels[name]) : name
}

/** The tool of an action; undefined for one that another client can run. */
export function toolOf({ name }) {
  return KNOWN.get(name)
}
