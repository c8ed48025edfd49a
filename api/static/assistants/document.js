// The document of an assistant, as it is made and edited.

import { FILES } from '../data/documents.js'

/** A new one, as `ragcore assistants add` writes it. Of the fields `name`, `prompt`, `icon`, `folder` (an id). */
export function made(fields) {
  const now = new Date().toISOString()
  const cozyMetadata = { doctypeVersion: '1', metadataVersion: 1, createdAt: now, updatedAt: now, createdOn: `${location.origin}/` }
  return edited({ name: '', prompt: '', icon: null, relationships: {}, cozyMetadata }, fields)
}

/** With the fields that are given; all else of the document stays. */
export function edited(doc, { folder, ...fields }) {
  const changed = { ...doc, ...fields, cozyMetadata: { ...doc.cozyMetadata, updatedAt: new Date().toISOString() } }
  return folder === undefined ? changed : withFolder(changed, folder)
}

/** Both spellings name mails and more besides folders: that is left to whom it concerns. */
function withFolder({ knowledgeBase: former, ...doc }, folder) {
  const { knowledgeBase, ...relationships } = doc.relationships ?? {}
  const others = list(knowledgeBase?.data).filter((entry) => entry?._type !== FILES)
  const data = folder ? [{ _id: folder, _type: FILES }, ...others] : others
  const kept = list(former).filter((entry) => entry?.doctype !== FILES)
  return {
    ...doc,
    relationships: data.length ? { ...relationships, knowledgeBase: { ...knowledgeBase, data } } : relationships,
    ...(kept.length && { knowledgeBase: kept })
  }
}

function list(value) {
  return Array.isArray(value) ? value : []
}
