// Links that come from elsewhere.

/** Whether a page may lead people there. */
export function isWeb(url) {
  return typeof url === 'string' && URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol)
}

/** What makes a link lead out of the page, and tell nobody of it. */
export const OUTSIDE = { target: '_blank', rel: 'noopener noreferrer' }
