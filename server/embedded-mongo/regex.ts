/** Perl-compatible expressions, as MongoDB takes them, turned into JavaScript's. */
import { fail } from './errors.ts'
import { bsonType } from './values.ts'

const LONGEST_PATTERN = 32_764

const classes: Record<string, string> = {
  alnum: 'A-Za-z0-9',
  alpha: 'A-Za-z',
  ascii: '\\x00-\\x7f',
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
  a: '\\x07',
  e: '\\x1b',
}

const escapeText = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

interface Source {
  text: string
  at: number
}

const takeUntil = (source: Source, end: string): string => {
  const stop = source.text.indexOf(end, source.at)
  const taken = source.text.slice(source.at, stop < 0 ? undefined : stop)
  source.at = stop < 0 ? source.text.length : stop + end.length
  return taken
}

const escapeSequence = (source: Source): string => {
  const letter = source.text[source.at + 1] ?? ''
  source.at += 2
  if (letter === '') return fail(51091, 'Regular expression is invalid: \\ at end of pattern')
  if (letter === 'Q') return escapeText(takeUntil(source, '\\E'))
  if (letter === 'E') return ''
  return escapes[letter] ?? `\\${letter}`
}

/** A bracketed class; JavaScript knows no `[:alpha:]` inside. */
const bracket = (source: Source): string => {
  let out = '['
  source.at++
  if (source.text[source.at] === '^') {
    out += '^'
    source.at++
  }
  if (source.text[source.at] === ']') {
    out += '\\]'
    source.at++
  }
  while (source.at < source.text.length && source.text[source.at] !== ']') {
    const named = /^\[:(\w+):\]/.exec(source.text.slice(source.at, source.at + 12))
    if (named) {
      out +=
        classes[named[1] as string] ?? fail(51091, `Regular expression is invalid: unknown class ${named[0]}`)
      source.at += named[0].length
    } else if (source.text[source.at] === '\\') out += escapeSequence(source)
    else {
      out += source.text[source.at] === '[' ? '\\[' : source.text[source.at]
      source.at++
    }
  }
  source.at++
  return `${out}]`
}

const extended = (source: Source): boolean => {
  const letter = source.text[source.at] as string
  if (/\s/.test(letter)) source.at++
  else if (letter === '#') takeUntil(source, '\n')
  else return false
  return true
}

const groups: [RegExp, string][] = [
  [/^\(\?P?<([A-Za-z_]\w*)>/, '(?<$1>'],
  [/^\(\?P=(\w+)\)/, '\\k<$1>'],
  [/^\(\?>/, '(?:'],
]

const group = (source: Source): string => {
  const rest = source.text.slice(source.at, source.at + 64)
  if (rest.startsWith('(?#')) return takeUntil(source, ')') && ''
  for (const [pattern, replacement] of groups) {
    const match = pattern.exec(rest)
    if (match) {
      source.at += match[0].length
      return match[0].replace(pattern, replacement)
    }
  }
  source.at++
  return '('
}

const translate = (text: string, skipSpace: boolean): string => {
  const source: Source = { text, at: 0 }
  let out = ''
  while (source.at < text.length) {
    const letter = text[source.at] as string
    if (letter === '\\') out += escapeSequence(source)
    else if (letter === '[') out += bracket(source)
    else if (skipSpace && extended(source)) continue
    else if (letter === '(') out += group(source)
    else if (/[*+?}]/.test(letter) && text[source.at + 1] === '+') {
      out += letter
      source.at += 2
    } else {
      out += letter
      source.at++
    }
  }
  return out
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
