// search_files: the files whose names have all the words of a query. Its result goes back to the assistant.

import { FILES, defineIndex, find } from '../../data/documents.js'
import { directories } from '../../data/files.js'
import { isShown } from '../../data/folders.js'
import { t } from '../../lib/i18n.js'
import { pattern } from '../../lib/pattern.js'

const MOST = 20 // files
const ROOM = 7500 // characters: a result is cut at 8000
const BY_DATE = 'updated_at'
const FOR_NOW = new Set([0, 401, 429, 503]) // statuses of what may be tried again: nobody is told of them

export const search = {
  title: 'searchTitle',
  confirm: 'searchConfirm',
  done: 'searchDone',
  givesResult: true,
  labels: { query: 'searchQuery' },
  long: [],
  run,
  definition: {
    name: 'search_files',
    description:
      'Looks for files of the user by their names. Call it to find, list or link files, not for what is written in them: ' +
      'the documents of the conversation tell that.',
    examples: ['Which files of mine are called invoice?', 'Find the contract with the landlord'],
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', description: 'words that stand in the name, each of them, in any order' } },
      required: ['query']
    },
    instructions: 'Few words, as they may stand in a name of a file: the fewer, the more is found.'
  }
}

async function run({ query }) {
  try {
    return { result: { ok: true, content: told(await found(query)) } }
  } catch (error) {
    if (FOR_NOW.has(error.status)) throw error
    return { result: { ok: false, content: error.message } }
  }
}

/** `{files, more}`: the files that changed last, with the folders that they are in. */
async function found(query) {
  await defineIndex(FILES, [BY_DATE])
  const names = query.toWellFormed().split(/\s+/).filter(Boolean).map((word) => ({ name: { $regex: pattern(word) } }))
  // PouchDB forgets what stands beside an $and
  const selector = { $and: [{ [BY_DATE]: { $gt: null } }, { type: 'file' }, { trashed: false }, ...names] }
  const fields = ['_id', 'name', 'dir_id', BY_DATE]
  const { docs, next } = await find(FILES, { selector, sort: [{ [BY_DATE]: 'desc' }], fields, limit: MOST })
  const folders = await directories(docs.map((doc) => doc.dir_id))
  const files = docs.map((doc) => ({ ...doc, folder: folders.get(doc.dir_id)?.path ?? '' }))
  return { files: files.filter(({ folder }) => isShown({ path: folder })), more: next }
}

/** The result as a text in Markdown, for the assistant and for people. */
function told({ files, more }) {
  if (!files.length) return t('searchNothing')
  const lines = [t(more ? 'searchMore' : 'searchFound', { n: files.length }), '']
  let room = ROOM
  for (const file of files) {
    const line = lineOf(file)
    if ((room -= line.length + 1) < 0) break
    lines.push(line)
  }
  return lines.join('\n')
}

function lineOf({ _id, name, folder, [BY_DATE]: changed }) {
  const link = `[${name.replace(/[\\[\]]/g, '\\$&')}](${location.origin}/#/file/${encodeURIComponent(_id)})`
  return `- ${link}, ${t('searchWhere', { folder: folder || '/', date: String(changed).slice(0, 10) })}`
}
