// A file, over what is shown.

import { openDialog } from '../lib/dialog.js'
import { get } from '../data/files.js'
import { h } from '../lib/dom.js'

export async function showFile(id, onclose) {
  const file = await get(id)
  openDialog(file.name, h('p', {}, file.mime), [], onclose)
}
