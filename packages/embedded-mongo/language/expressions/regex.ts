/**
 * Translates MongoDB's Perl-compatible regular expressions for RE2, whose time is at most the size of the
 * compiled program times the length of the text. The size is bounded, and so is the work of each match.
 */
import { createRequire } from 'node:module'
import type { RE2JS as Compiled, Matcher } from 're2js'
import { bsonType } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { MatchSteps, type RegexBudget, testInSteps } from './regex-steps.ts'

const load = createRequire(import.meta.url)
/** Loaded on first use, so that the engine starts quickly. */
const engine = (): typeof Compiled => (load('re2js') as typeof import('re2js')).RE2JS

const MAX_PATTERN_LENGTH = 32_764
/** The most instructions of a program, in which each repetition `{n}` stands n times. */
const MAX_PROGRAM_SIZE = 2_000
/** The most steps of a search for captures: instructions times characters. RE2 takes up to 35 ns for a step. */
const MAX_FIND_STEPS = 1_000_000

const horizontal = ' \\t\\x{a0}\\x{1680}\\x{180e}\\x{2000}-\\x{200a}\\x{202f}\\x{205f}\\x{3000}'
const vertical = '\\n-\\r\\x{85}\\x{2028}\\x{2029}'
/**
 * RE2 has another syntax for these escapes, or a narrower meaning. `\x`, `\c`, octals and `\Z` are handled
 * elsewhere.
 */
const escapes: Record<string, string> = {
  s: '[\\t-\\r ]',
  S: '[^\\t-\\r ]',
  h: `[${horizontal}]`,
  H: `[^${horizontal}]`,
  v: `[${vertical}]`,
  V: `[^${vertical}]`,
  N: '[^\\n]',
  R: `(?:\\r\\n|[${vertical}])`,
  e: '\\x1b',
  E: '',
}
const members: Record<string, string> = {
  s: '\\t-\\r ',
  S: '\\x00-\\x08\\x0e-\\x1f!-\\x{10ffff}',
  h: horizontal,
  v: vertical,
  b: '\\x08',
  e: '\\x1b',
  E: '',
}

const quote = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|-]/g, '\\$&')

const failInvalid = (why: string): never => fail(51091, `Regular expression is invalid: ${why}`)

const quotation = /\\Q([\s\S]*?)(?:\\E|$)/
const escapeSequence = /\\(x\{[\dA-Fa-f]+\}|x[\dA-Fa-f]{0,2}|c[ -~]|0[0-7]{0,2}|[\s\S])/
/** One without its end is a token, too: it is refused, and the search need not try each later start. */
const characterClass =
  /\[(\^?\]?)((?:\\(?:Q(?:(?!\\E)[\s\S])*(?:\\E|$)|[^Q])|\[(?::\^?\w+:\])?|[^[\]\\])*)(\])?/
const comment = /\(\?#[^)]*(\))?/
/** The parts of a pattern whose letters are not operators. */
export const LITERAL_SYNTAX = { quotation, characterClass, comment }
/**
 * Syntax that differs in Perl: quotations, escapes, classes, comments, groups. `$` also matches before a last
 * line break.
 */
const token = [quotation, escapeSequence, characterClass, comment, /\(\?'(\w+)'/, /\$/]
  .map(({ source }) => source)
  .join('|')
const tokens = new RegExp(token, 'g')
/** Option x also ignores blanks and comments. */
const extendedTokens = new RegExp(`${token}|\\s+|#.*`, 'g')
const classTokens = new RegExp(`${quotation.source}|${escapeSequence.source}`, 'g')

const translateEscape = (name: string, translations: Record<string, string>): string => {
  const letter = name[0] as string
  if (letter === 'x') return `\\x{${name.replace(/[x{}]/g, '') || '0'}}`
  if (letter === 'c' && name.length > 1) return `\\x{${(name.toUpperCase().charCodeAt(1) ^ 64).toString(16)}}`
  if (letter === '0') return `\\x{${Number.parseInt(name, 8).toString(16)}}`
  return translations[letter] ?? `\\${name}`
}

const inClass = (text: string): string =>
  text.replace(classTokens, (_, quotedText, letters) =>
    quotedText === undefined ? translateEscape(letters, members) : quote(quotedText),
  )

/** The group that captures a line break between the end of a match and the end of the text. */
const ending = 'endOfText'

const translate = (pattern: string, flags: string): string => {
  let endings = 0
  const end = (rest: string): string =>
    rest === '' || /^[)|]/.test(rest)
      ? `(?P<${ending}${endings++}>\\n)?\\z`
      : failInvalid('$ or \\Z inside the pattern is not supported')
  const replace = (
    ...[whole, quotedText, letters, first, inside, bracket, parenthesis, name, at]: [string, ...string[]]
  ): string => {
    const rest = pattern.slice(Number(at) + whole.length)
    if (quotedText !== undefined) return quote(quotedText)
    if (letters !== undefined) return letters === 'Z' ? end(rest) : translateEscape(letters, escapes)
    if (inside !== undefined && !bracket) failInvalid('missing ] after a character class')
    if (whole.startsWith('(?#') && !parenthesis) failInvalid('missing ) after a comment')
    if (inside !== undefined) return `[${first?.replace(']', '\\]')}${inClass(inside)}]`
    if (name) return `(?P<${name}>`
    if (whole === '$') return flags.includes('m') ? '$' : end(rest)
    return ''
  }
  return pattern.replace(flags.includes('x') ? extendedTokens : tokens, replace as never)
}

export interface RegexMatch {
  match: string
  /** The start, in UTF-16 units. */
  at: number
  captures: (string | null)[]
}

/** A compiled expression. A match that needs too many steps fails with MaxTimeMSExpired (50). */
export interface RegularExpression {
  /** @param budget for the steps of several matches; by default each has its own */
  test(text: string, budget?: RegexBudget): boolean
  find(text: string, from: number): RegexMatch | undefined
}

const toMatch = (matcher: Matcher, captures: number[], endings: string[]): RegexMatch => {
  const group = (key: number | string) => matcher.group(key as never) as string | null
  const whole = group(0) as string
  const match = endings.some((name) => group(name) !== null) ? whole.slice(0, -1) : whole
  return { match, at: matcher.start(), captures: captures.map(group) }
}

/**
 * @throws 51091 for an invalid expression or one without linear time, 51108 for an unknown option, 2 for a
 * null byte
 */
export const compileRegex = (pattern: string, options = ''): RegularExpression => {
  if (`${pattern}${options}`.includes('\0'))
    fail(2, 'Regular expression cannot contain an embedded null byte')
  if (pattern.length > MAX_PATTERN_LENGTH) failInvalid('pattern is too large')
  const unknown = /[^imsxu]/.exec(options)
  if (unknown) fail(51108, `invalid flag in regex options: ${unknown[0]}`)
  const inline = /^(?:\(\*UTF8?\))?(?:\(\?([imsx]+)\))?/.exec(pattern)
  const flags = options + (inline?.[1] ?? '')
  const body = pattern.slice(inline?.[0].length)
  if (countRepetitions(body) > MAX_PROGRAM_SIZE) failInvalid(TOO_MANY_REPETITIONS)
  if (!flags.includes('m') && /\(\?\w*m/.test(body)) failInvalid('(?m) is supported at the beginning only')
  const uniqueFlags = [...new Set(flags.replace(/[xu]/g, ''))].join('')
  const source = `${uniqueFlags && `(?${uniqueFlags})`}${translate(body, flags)}`
  let regex: Compiled
  try {
    regex = engine().compile(source)
  } catch (error) {
    return failInvalid(`${(error as Error).message} (backreferences and lookaround are not supported)`)
  }
  if (regex.programSize() > MAX_PROGRAM_SIZE) failInvalid(TOO_MANY_REPETITIONS)
  return expression(regex)
}

const TOO_MANY_REPETITIONS = 'its repetitions are too many in total'

/** The sum of all upper bounds, so that a program that is far too large is not compiled first. */
const countRepetitions = (pattern: string): number =>
  [...pattern.matchAll(/\{(\d*)(?:,(\d*))?\}/g)].reduce((sum, [, low, high]) => sum + Number(high || low), 0)

const expression = (regex: Compiled): RegularExpression => {
  const namedGroups = regex.namedGroups()
  const endings = Object.keys(namedGroups).filter((name) => name.startsWith(ending))
  const endingGroups = new Set(endings.map((name) => namedGroups[name]))
  const captures = Array.from({ length: regex.groupCount() }, (_, i) => i + 1).filter(
    (n) => !endingGroups.has(n),
  )
  const limitSteps = (characters: number): void => {
    if (regex.programSize() * characters > MAX_FIND_STEPS)
      fail(50, `a regular expression takes too long on ${characters} characters`)
  }
  return {
    test: (text, budget = new MatchSteps()) => testInSteps(regex, text, budget),
    find: (text, from) => {
      limitSteps(text.length - from)
      const matcher = regex.matcher(text)
      return matcher.find(from) ? toMatch(matcher, captures, endings) : undefined
    },
  }
}

export const isRegex = (value: unknown): value is { pattern: string; options: string } =>
  bsonType(value) === 'BSONRegExp'

/** The text with which every match must begin, if the expression shows it directly: `^abc`, `^\Qa.b\E`. */
export const literalPrefix = (pattern: string, options: string): string => {
  if (options !== '') return ''
  const quotation = /^(?:\^|\\A)\\Q((?:[^\\]|\\(?!E))*)\\E/.exec(pattern)
  if (quotation) return /\|/.test(pattern.slice(quotation[0].length)) ? '' : (quotation[1] as string)
  const plain = /^(?:\^|\\A)((?:[\w \-@,:;/"'<>=!%&~`]|\\[^\w\s])+)/.exec(pattern)
  if (!plain || pattern.includes('|')) return ''
  const rest = pattern.slice(plain[0].length)
  const text = (plain[1] as string).replace(/\\(.)/g, '$1')
  return /^[*?{]/.test(rest) ? text.slice(0, -1) : text
}
