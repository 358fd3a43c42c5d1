import { compileRegex, type RegularExpression } from '@health-record-service/embedded-mongo/regex'

const MAX_PATTERN_LENGTH = 1000

/** What the engine writes, or means, in another way than ECMA-262: escapes, groups, classes, `.` and `$`. */
const TOKEN =
  /\\(?:u[dD][89abAB][\dA-Fa-f]{2}\\u[dD][c-fC-F][\dA-Fa-f]{2}|u\{[\dA-Fa-f]+\}|u[\dA-Fa-f]{4}|c[A-Za-z]|[pP]\{[\w=]*\}|[\s\S])|\(\?(?!:)(?:<\w+>)?|\[\^?|[\].$]/g

/** The contents of classes. The characters stand themselves, since the engine mistakes `{2028}` for a repetition. */
const LINE_BREAKS = '\\n\\r\u2028\u2029'
const SPACE = '\\t-\\r \\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
const NO_SPACE =
  '\\x00-\\x08\\x0e-\\x1f!-\\x9f\\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\u{10ffff}'
const ANY = '\\x00-\u{10ffff}'

const SETS: Readonly<Record<string, string>> = { s: SPACE, S: NO_SPACE }
const CHARACTERS: Readonly<Record<string, number>> = { v: 0x0b, '0': 0 }

const characterOf = (codePoint: number): string =>
  codePoint < 256 ? `\\x${codePoint.toString(16).padStart(2, '0')}` : String.fromCodePoint(codePoint)

function translateUnicode(hex: string): string {
  const units = hex.match(/[\dA-Fa-f]+/g)?.map((unit) => Number.parseInt(unit, 16)) ?? []
  const [codePoint = 0] = units.length > 1 ? [String.fromCharCode(...units).codePointAt(0)] : units
  if (codePoint >= 0xd800 && codePoint <= 0xdfff) throw new SyntaxError('a lone surrogate is not supported')
  return characterOf(codePoint)
}

/** A general category, by its letters, or a script. */
function translateProperty(sequence: string): string {
  const name = /^..\{(?:(?:General_Category|gc)=)?(?:(?:Script|sc)=)?(\w+)\}$/.exec(sequence)?.[1] ?? ''
  const isSupported = name.length <= 2 || /Script=|sc=/.test(sequence)
  if (!isSupported) throw new SyntaxError('of the properties, \\p{Lu} and \\p{Script=Greek} are supported')
  return `${sequence.slice(0, 2)}{${name}}`
}

function translateEscape(sequence: string, inClass: boolean): string {
  const letter = sequence[1] as string
  const set = SETS[letter]
  if (set !== undefined) return inClass ? set : `[${set}]`
  const character = letter === 'b' && inClass ? 8 : CHARACTERS[letter]
  if (character !== undefined) return characterOf(character)
  if (letter === 'u') return translateUnicode(sequence)
  if (letter === 'c') return characterOf(sequence.charCodeAt(2) % 32)
  if (/[pP]/.test(letter)) return translateProperty(sequence)
  if (/[1-9k]/.test(letter)) throw new SyntaxError('back-references are not supported')
  return sequence
}

/** @throws SyntaxError, which names what the engine has not */
function toEngineSyntax(pattern: string): string {
  let inClass = false
  return pattern.replace(TOKEN, (token, at: number) => {
    if (token.startsWith('\\')) return translateEscape(token, inClass)
    if (token.startsWith('[')) {
      if (inClass) return `\\${token}`
      inClass = true
      const isEmpty = pattern[at + token.length] === ']'
      return isEmpty ? `${token === '[' ? '[^' : '['}${ANY}` : token
    }
    if (token === ']') inClass = false
    if (inClass || token === ']') return token
    if (token === '.') return `[^${LINE_BREAKS}]`
    if (token === '$') return '\\z'
    // No pattern refers to a group by its name.
    if (token.endsWith('>')) return '(?:'
    throw new SyntaxError('look-around and flags in groups are not supported')
  })
}

/** @throws an error if the pattern is not valid in ECMA-262, or could take more than linear time */
function compileEcmaScript(pattern: string): RegularExpression {
  // It only parses the pattern: its matches could take forever.
  new RegExp(pattern, 'u')
  return compileRegex(toEngineSyntax(pattern))
}

/** The reason alone, without the pattern. */
const reasonOf = (error: Error): string | undefined =>
  error instanceof SyntaxError
    ? error.message.split(': ').at(-1)
    : error.message.replaceAll(
        /^Regular expression is invalid: (?:error parsing regexp: )?| \(backref.*\)$/g,
        '',
      )

/** The fault of a pattern in a new schema. */
export function patternFault(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string' || pattern.length > MAX_PATTERN_LENGTH)
    return `must be a regular expression of at most ${MAX_PATTERN_LENGTH} characters`
  try {
    compileEcmaScript(pattern)
    return undefined
  } catch (error) {
    return `must be a regular expression of ECMA-262 that takes linear time: ${reasonOf(error as Error)}`
  }
}

/** Compiles a pattern of a stored schema. Former releases stored some that are not of ECMA-262. */
export function compilePattern(pattern: string): RegularExpression {
  try {
    return compileEcmaScript(pattern)
  } catch {
    return compileRegex(pattern, 's')
  }
}
