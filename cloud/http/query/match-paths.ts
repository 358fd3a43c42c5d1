import { LITERAL_SYNTAX } from '@health-record-service/embedded-mongo/regex'

/** The longest text of a property with a schema; an unbounded repetition counts as so many. */
export const MAX_PROPERTY_LENGTH = 10_000

const ESCAPE = /\\[pPx]\{[^}]*\}?|\\[\s\S]/
const FLAGS = /\(\?[\w^-]*\)/
const GROUP = /\((?:\?(?:P?<\w+>|'\w+'|[\w^-]*:))?/
const QUANTIFIER = /[*+?][?+]?|\{(?:\d+(?:,\d*)?|,\d+)\}[?+]?/
const { quotation, characterClass, comment } = LITERAL_SYNTAX
const TOKEN = [quotation, ESCAPE, characterClass, comment, /\(\*UTF8?\)/, FLAGS, GROUP, QUANTIFIER, /[\s\S]/]
  .map(({ source }) => source)
  .join('|')
const TOKENS = new RegExp(TOKEN, 'gu')
/** With option x, blanks and comments are ignored. */
const EXTENDED_TOKENS = new RegExp(`#[^\\n]*|${TOKEN}`, 'gu')

/** Tokens that match nothing. A quantifier after one belongs to what stands before it. */
const IGNORED = /^(?:\\E|\\Q(?:\\E)?|\(\?#.*|\(\*UTF8?\)|\(\?[\w^-]*\))$/s
const IGNORED_IN_EXTENDED = /^(?:\s|#.*)$/

const LEADING_FLAGS = /^(?:\(\*UTF8?\))?\(\?([imsx]+)\)/

/** What a pattern costs where it matches nothing. */
export interface MatchPaths {
  /** It is tried at the beginning of a text only. */
  isAnchored: boolean
  /** The number of ways to match parts of it that a backtracking engine tries at one place of a text. */
  count: number
}

/** Counts the ways to match a valid pattern. Only a character or a class may be repeated without an end. */
export function countMatchPaths(pattern: string, options: string): MatchPaths {
  const flags = options + (LEADING_FLAGS.exec(pattern)?.[1] ?? '')
  const isExtended = flags.includes('x')
  const tokens = (pattern.match(isExtended ? EXTENDED_TOKENS : TOKENS) ?? []).filter(
    (one) => !IGNORED.test(one) && !(isExtended && IGNORED_IN_EXTENDED.test(one)),
  )
  const counter = new PathCounter(tokens)
  const count = counter.countAlternatives()
  const [first = '', second = ''] = tokens
  const isAtStart = (first === '^' && !flags.includes('m')) || first === '\\A'
  return { isAnchored: isAtStart && !readQuantifier(second) && counter.topLevelAlternatives === 1, count }
}

class PathCounter {
  readonly #tokens: readonly string[]
  #at = 0
  #depth = 0
  topLevelAlternatives = 1

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  /** The ways of all alternatives up to the end of the group. */
  countAlternatives(): number {
    let count = this.#countSequence()
    while (this.#tokens[this.#at] === '|') {
      this.#at += 1
      if (this.#depth === 0) this.topLevelAlternatives += 1
      count += this.#countSequence()
    }
    return count
  }

  #countSequence(): number {
    let count = 1
    for (let token = this.#tokens[this.#at]; token && !/^[|)]$/.test(token); token = this.#tokens[this.#at])
      count *= this.#countPart(token)
    return count
  }

  /** The ways of a character, class or group with its quantifiers. */
  #countPart(token: string): number {
    this.#at += 1
    let isGroup = token.startsWith('(')
    let count = isGroup ? this.#countGroup() : 1
    for (
      let quantifier = readQuantifier(this.#tokens[this.#at]);
      quantifier;
      quantifier = readQuantifier(this.#tokens[this.#at])
    ) {
      this.#at += 1
      count = countRepetitions(
        count,
        isGroup,
        this.#isAtEnd() ? { ...quantifier, max: Math.min(quantifier.max, quantifier.min) } : quantifier,
      )
      isGroup = true
    }
    return count
  }

  #countGroup(): number {
    this.#depth += 1
    const count = this.countAlternatives()
    this.#depth -= 1
    this.#at += 1
    return count
  }

  /** Nothing follows that could fail. */
  #isAtEnd(): boolean {
    const next = this.#tokens.slice(this.#at).find((one) => one !== ')')
    return next === undefined || (this.#depth === 0 && next === '|')
  }
}

interface Quantifier {
  min: number
  /** Infinity without an end. */
  max: number
}

function readQuantifier(token = ''): Quantifier | undefined {
  if (/^\{./.test(token)) {
    const [min = '', max = min] = token.replace(/[{}?+]/g, '').split(',')
    return { min: Number(min), max: max === '' ? Number.POSITIVE_INFINITY : Number(max) }
  }
  if (!/^[*+?]/.test(token)) return undefined
  return { min: token.startsWith('+') ? 1 : 0, max: token.startsWith('?') ? 1 : Number.POSITIVE_INFINITY }
}

/** MongoDB gives up groups that repeat 4,000 times, so one without an end counts as infinite. */
function countRepetitions(ways: number, isGroup: boolean, { min, max }: Quantifier): number {
  if (max === Number.POSITIVE_INFINITY) return isGroup ? max : MAX_PROPERTY_LENGTH
  let count = 0
  for (let times = min; times <= max; times++) count += ways ** times
  return count
}
