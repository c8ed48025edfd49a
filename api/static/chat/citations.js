// `[n]` in an answer becomes a button that opens the passage, where there is a source of this number.

import { isNumbered, labelOf, openSource } from './sources.js'
import { h } from '../lib/dom.js'

const CITATION = /\[(\d{1,6})\]/
const APART = 'a, button, code, pre' // what stands there is no citation

/** Again after each change of the element: what is a button already stays. */
export function cite(element, sources) {
  const numbered = new Map(sources.filter(isNumbered).map((source) => [source.number, source]))
  if (!numbered.size) return
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  const texts = []
  while (walker.nextNode()) texts.push(walker.currentNode)
  for (const text of texts) if (CITATION.test(text.data) && !text.parentElement.closest(APART)) text.replaceWith(...parts(text.data, numbered))
}

/** Every second part is a number. */
function parts(text, numbered) {
  return text.split(CITATION).map((part, place) => {
    const source = place % 2 && numbered.get(Number(part))
    if (source) return citation(source)
    return place % 2 ? `[${part}]` : part
  })
}

function citation(source) {
  const label = labelOf(source)
  return h('button', { type: 'button', class: 'cite', title: label, 'aria-label': label, onclick: () => openSource(source) }, String(source.number))
}
