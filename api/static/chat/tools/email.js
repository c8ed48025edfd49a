// draft_email: opens the mail program with an email that is written already. Nothing is sent from here.

import { announce, button, h, icon } from '../../lib/dom.js'
import { t } from '../../lib/i18n.js'

const LONGEST = 2000 // characters of a link: what every system hands to its mail program
const SUBJECT = 200

export const email = {
  title: 'emailTitle',
  confirm: 'emailConfirm',
  done: 'emailDone',
  labels: { to: 'emailTo', subject: 'emailSubject', body: 'emailBody' },
  long: ['body'],
  run,
  after,
  definition: {
    name: 'draft_email',
    description: 'Drafts an email, which the user reads over and sends. Call it when the user wants to write to somebody.',
    examples: ['Answer Claire that Thursday suits me', 'Send the team a summary of these minutes'],
    parameters: {
      type: 'object',
      properties: {
        to: {
          type: 'array',
          items: { type: 'string' },
          description: 'whom it goes to: names or addresses',
          'x-user-written': true
        },
        subject: { type: 'string', description: 'what stands in the line of the subject' },
        body: { type: 'string', description: 'the text, from the greeting to the name at its end' }
      },
      required: ['body']
    },
    instructions: 'The body is plain text without Markdown, in the language of the recipients.'
  }
}

async function run(params) {
  const { href, isCut } = mailto(params)
  const link = h('a', { href, hidden: true })
  document.body.append(link)
  link.click()
  link.remove()
  if (isCut) await copy(params.body)
  return {}
}

/** Where no mail program opened, or only a part of the text fitted. */
function after({ to, subject, body = '' }) {
  const { href, isCut } = mailto({ to, subject, body })
  return [
    isCut && h('p', { class: 'hint' }, t('emailCut')),
    h('p', { class: 'row' }, h('a', { href }, t('emailAgain')),
      button([icon('copy'), t('emailCopy')], () => copy(body).then(() => announce(t('copied'))), { class: 'small' }))
  ]
}

/** `{href, isCut}` (RFC 6068); the body is cut where the link would be too long. */
export function mailto({ to, subject, body }) {
  const people = (to ?? []).map((person) => encoded(person).replaceAll('%40', '@')).join(',')
  const start = `mailto:${people}?subject=${encoded([...(subject ?? '')].slice(0, SUBJECT).join(''))}&body=`
  const whole = encoded(body ?? '')
  if (start.length + whole.length <= LONGEST) return { href: start + whole, isCut: false }
  return { href: start + cut(body, LONGEST - start.length), isCut: true }
}

/** As much of a text as fits, encoded, and a mark that it goes on. */
function cut(body, room) {
  const end = encoded(' […]')
  let text = ''
  for (const character of lines(body)) {
    const next = encodeURIComponent(character)
    if (text.length + next.length + end.length > room) break
    text += next
  }
  return text + end
}

function encoded(text) {
  return encodeURIComponent(lines(text))
}

function lines(text) {
  return text.toWellFormed().replace(/\r\n?|\n/g, '\r\n')
}

/** Not every browser lets a page do so: the text stands on the card as well. */
async function copy(text) {
  await navigator.clipboard?.writeText(text).catch(() => {})
}
