// How the messages of a conversation belong together: an answer stands right behind its question.

const KEPT = 15 * 60_000 // ms that the events of a question are kept

/** Whether an answer is owed to a message: what the user asked, and the results of actions. */
function isOwed(message) {
  return message.role === 'user' || message.role === 'tool'
}

/** Whether the user wrote it. */
export function isQuestion(message) {
  return message.role === 'user'
}

/** `[{question, answer}]`, the answer undefined where there is none (yet). One that answers nothing stands for itself. */
export function pairs(messages) {
  return messages.flatMap((message, place) => {
    if (isOwed(message)) return [{ question: message, answer: behind(messages, place) }]
    const isAlone = message.role === 'assistant' && !(place && isOwed(messages[place - 1]))
    return isAlone ? [{ question: message, answer: message }] : []
  })
}

export function answerTo(messages, question) {
  return behind(messages, messages.findIndex((message) => message.id === question.id))
}

function behind(messages, place) {
  const next = messages[place + 1]
  return place >= 0 && next?.role === 'assistant' ? next : undefined
}

/** The result that was given to the action of a message. */
export function resultOf(messages, messageId) {
  return messages.find((message) => message.role === 'tool' && message.result?.messageID === messageId)
}

/** Whether the same question was asked again right behind this one, which got no answer. */
export function isRepeated(messages, question) {
  const next = messages[messages.findIndex((message) => message.id === question.id) + 1]
  return question.role === 'user' && next?.role === 'user' && next.content === question.content
}

export function mayStillCome(question) {
  return Date.now() - new Date(question.createdAt).getTime() < KEPT
}
