// What is known of a file's place in the index.

import { said, t } from '../lib/i18n.js'

/** The words for a status document (`io.cozy.ai.chat.rag`), or for none. */
export function statusText({ status, reason, duplicateOf } = {}) {
  if (duplicateOf) return t('indexDuplicate')
  if (status === 'success') return t('indexSuccess')
  if (status === 'error') return t('indexError')
  if (status !== 'notsupported') return t('indexNone')
  return t('indexRefused', { why: said(`refused_${reason}`, t('refused_format')) })
}
