/** Perl-compatible expressions, as MongoDB takes them, turned into JavaScript's. */
import { fail } from '../../values/errors.ts'
import { bsonType } from '../../values/values.ts'

const LONGEST_PATTERN = 32_764

/** What stands inside brackets for a POSIX class, of which JavaScript has none. */
const classes: Record<string, string> = {
  alnum: 'A-Za-z0-9',
  alpha: 'A-Za-z',
  blank: ' \\t',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '\\x21-\\x7e',
  lower: 'a-z',
  print: '\\x20-\\x7e',
  punct: '!-\\/:-@\\[-`{-~',
  space: '\\s',
  upper: 'A-Z',
  word: '\\w',
  xdigit: 'A-Fa-f0-9',
}

const escapes: Record<string, string> = {
  A: '(?<![\\s\\S])',
  Z: '(?=\\n?(?![\\s\\S]))',
  z: '(?![\\s\\S])',
  h: '[ \\t]',
  E: '',
}

const quote = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** What Perl writes otherwise: quotations, escapes, bracketed classes, comments, groups, possessive quantifiers. */
const token =
  /\\Q([\s\S]*?)(?:\\E|$)|\\([\s\S])|\[(\^?)(\]?)((?:\[:\w+:\]|\\[\s\S]|[^\]\\])*)\]|\(\?#[^)]*\)|\(\?P=(\w+)\)|(\(\?)P?<(?=\w)|\(\?>|([*+?}])\+/
const tokens = new RegExp(token, 'g')
/** With the option x, blanks and comments too. */
const extendedTokens = new RegExp(`${token.source}|\\s+|#.*`, 'g')

const translate = (pattern: string, extended: boolean): string =>
  pattern.replace(
    extended ? extendedTokens : tokens,
    (whole, quoted, letter, not, first, members, name, named, quantifier) => {
      if (quoted !== undefined) return quote(quoted)
      if (letter !== undefined) return escapes[letter] ?? whole
      if (members !== undefined)
        return `[${not}${first && '\\]'}${members.replace(/\[:(\w+):\]|\\[\s\S]|\[/g, member)}]`
      if (name) return `\\k<${name}>`
      if (named) return '(?<'
      return whole === '(?>' ? '(?:' : (quantifier ?? '')
    },
  )

const member = (whole: string, name?: string): string => {
  if (name) return classes[name] ?? fail(51091, `Regular expression is invalid: unknown class ${whole}`)
  return whole === '[' ? '\\[' : whole
}

/** @throws 51091 when the expression cannot be understood, 2 for an unknown option */
export const toRegExp = (pattern: string, options = ''): RegExp => {
  if (pattern.includes('\0')) fail(2, 'Regular expression cannot contain an embedded null byte')
  if (pattern.length > LONGEST_PATTERN) fail(51091, 'Regular expression is invalid: pattern is too large')
  const unknown = /[^imsxu]/.exec(options)
  if (unknown) fail(51108, `invalid flag in regex options: ${unknown[0]}`)
  const inline = /^\(\?([imsx]+)\)/.exec(pattern)
  const flags = options + (inline?.[1] ?? '')
  const source = translate(inline ? pattern.slice(inline[0].length) : pattern, flags.includes('x'))
  try {
    return new RegExp(source, [...new Set(flags.replace(/[xu]/g, ''))].join(''))
  } catch (error) {
    return fail(51091, `Regular expression is invalid: ${(error as Error).message}`)
  }
}

export const isRegex = (value: unknown): value is { pattern: string; options: string } =>
  bsonType(value) === 'BSONRegExp'

/** The text every match must begin with, when the expression says so plainly: `^abc`, `^\Qa.b\E`. */
export const literalPrefix = (pattern: string, options: string): string => {
  if (options !== '') return ''
  const quoted = /^(?:\^|\\A)\\Q((?:[^\\]|\\(?!E))*)\\E/.exec(pattern)
  if (quoted) return /\|/.test(pattern.slice(quoted[0].length)) ? '' : (quoted[1] as string)
  const plain = /^(?:\^|\\A)((?:[\w \-@,:;/"'<>=!%&~`]|\\[^\w\s])+)/.exec(pattern)
  if (!plain || pattern.includes('|')) return ''
  const rest = pattern.slice(plain[0].length)
  const text = (plain[1] as string).replace(/\\(.)/g, '$1')
  return /^[*?{]/.test(rest) ? text.slice(0, -1) : text
}
