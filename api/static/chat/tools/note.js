// create_note: a Markdown file in the folder of the notes.

import { FILES, find } from '../../data/documents.js'
import { ROOT, add, addDirectory } from '../../data/files.js'
import { freeName } from '../../data/folders.js'

const FOLDER = 'Notes'
const ROOM = 200 // bytes of a title in a name: the number and the ending come to it
const ATTEMPTS = 3

export const note = {
  title: 'noteTitle',
  confirm: 'noteConfirm',
  done: 'noteDone',
  labels: { title: 'noteName', content: 'noteContent' },
  long: ['content'],
  run,
  definition: {
    name: 'create_note',
    description: 'Keeps a text as a note among the files of the user. Call it when the user wants something noted or kept.',
    examples: ['Keep this as a note', 'Make me a checklist for the move and save it'],
    parameters: {
      type: 'object',
      properties: {
        title: { type: 'string', description: 'a short title, by which the user will find the note again' },
        content: { type: 'string', description: 'the whole text of the note' }
      },
      required: ['title', 'content']
    },
    instructions: 'The content is Markdown. The title is not repeated as its first line.'
  }
}

async function run({ title, content }) {
  const { id } = await write(await folder(), nameOf(title), content)
  return { url: `${location.origin}/#/file/${encodeURIComponent(id)}` }
}

/** The id of the folder of the notes, which is made where it is missing. */
async function folder() {
  const path = `/${FOLDER}`
  const { docs } = await find(FILES, { selector: { path, type: 'directory' }, fields: ['_id', 'path'] })
  const found = docs.find((doc) => doc.path === path) // an index may hold other ways to write a letter for equal
  return found?._id ?? (await addDirectory(ROOT, FOLDER)).id
}

/** Under the first name that is free. Somebody may take it in between: then the next one. */
async function write(dirId, title, content) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await add(dirId, await freeName(dirId, `${title}.md`), content, 'text/markdown')
    } catch (error) {
      if (error.status !== 409 || attempt === ATTEMPTS) throw error
    }
  }
}

/** A title as a name of a file, on every system that it may be copied to. */
export function nameOf(title) {
  const plain = title.toWellFormed().normalize('NFC').replace(/[\p{Cc}\s]+/gu, ' ').replace(/[/\\:*?"<>|]/g, '-')
  const characters = [...plain.replace(/^[\s.]+|[\s.]+$/g, '')].slice(0, ROOM)
  while (new TextEncoder().encode(characters.join('')).length > ROOM) characters.pop()
  return characters.join('').trim() || 'Note'
}
