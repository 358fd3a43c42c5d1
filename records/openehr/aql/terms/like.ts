import { compileRegex } from '@health-record-service/embedded-mongo/regex'

const SPECIAL = /[\\^$.*+?()[\]{}|]/g
/** The one character that no expression may hold as it is. */
const NUL = /\0/g

/**
 * A pattern of LIKE: `*` is any text, `?` one character, a backslash takes the meaning away.
 * @returns whether a text is as it says, in time that grows with the text alone
 */
export function likePattern(pattern: string): (text: string) => boolean {
  const body = pattern.replace(/\\(.)|\*+|\?|[^\\*?]+|\\/gsu, (part, escaped?: string) => {
    if (part.startsWith('*')) return '.*'
    if (part === '?') return '.'
    return (escaped ?? part).replace(SPECIAL, '\\$&').replace(NUL, '\\x00')
  })
  const expression = compileRegex(`^(?:${body})\\z`, 's')
  return (text) => expression.test(text)
}
