import { TextFault } from '../../formats/text-fault.ts'

export interface Token {
  kind: 'word' | 'code' | 'number' | 'string' | 'parameter' | 'symbol' | 'end'
  /** As it was written; of a string what it says, of a parameter its name. */
  text: string
  at: number
  /** Where it ends. */
  to: number
}

/** What a query is at most: longer ones are made by programs that should ask for less. */
const LONGEST_QUERY = 64 * 1024

const SPACE = /(?:\s+|--[^\n]*)+/y

/** In this order: what is longer comes before what it begins with. */
const TOKENS: readonly [kind: Exclude<Token['kind'], 'end' | 'string'>, pattern: RegExp][] = [
  // The id of an archetype: openEHR-EHR-OBSERVATION.blood_pressure.v2
  ['code', /(?:[a-z][\w.]{0,100}::)?[a-z]\w*-[a-z]\w*-[a-z]\w*\.\w[\w.-]*/iy],
  // A term: snomed_ct::22298006
  ['code', /[a-z][\w.-]{0,100}(?:\([\w.-]{0,100}\))?::[\w.-]+/iy],
  // A node of an archetype: at0004, at0004.1, id5
  ['code', /(?:at|id)\d+(?:\.\d+)*(?!\w)/y],
  // Beside names and words of the language `_type`, which every object has.
  ['word', /[a-z_]\w*/iy],
  ['number', /\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)/iy],
  ['parameter', /\$[a-z_]\w*/iy],
  ['symbol', /!=|<>|<=|>=|[=<>(),{}[\]/*;-]/y],
]

/** @throws TextFault for what no token begins with */
export function tokensOf(text: string): Token[] {
  if (text.length > LONGEST_QUERY)
    throw new TextFault(LONGEST_QUERY, `a query has at most ${LONGEST_QUERY} characters`)
  const tokens: Token[] = []
  let at = spaceAfter(text, 0)
  while (at < text.length) {
    const token = tokenAt(text, at)
    tokens.push(token)
    at = spaceAfter(text, token.to)
  }
  return [...tokens, { kind: 'end', text: '', at: text.length, to: text.length }]
}

function spaceAfter(text: string, at: number): number {
  SPACE.lastIndex = at
  return SPACE.test(text) ? SPACE.lastIndex : at
}

function tokenAt(text: string, at: number): Token {
  const first = text[at] as string
  if (first === "'" || first === '"') return stringAt(text, at)
  if (first === '{' && text[spaceAfter(text, at + 1)] === '/')
    throw new TextFault(at, 'regular expressions are not offered: expected =, !=, <, <=, > or >=')
  for (const [kind, pattern] of TOKENS) {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0]
    if (found === undefined) continue
    const told = kind === 'parameter' ? found.slice(1) : found
    return { kind, text: told, at, to: at + found.length }
  }
  if (text.startsWith('://', at))
    throw new TextFault(at, 'URIs are not offered: expected the codes themselves')
  throw new TextFault(at, `${JSON.stringify(first)} begins nothing that a query may hold`)
}

const ESCAPED: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '\\': '\\',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
}

/** What is escaped otherwise keeps its backslash: in a pattern `\*` is an asterisk. */
function stringAt(text: string, at: number): Token {
  const quote = text[at]
  const parts: string[] = []
  for (let i = at + 1; i < text.length; i++) {
    const one = text[i] as string
    if (one === quote) return { kind: 'string', text: parts.join(''), at, to: i + 1 }
    if (one !== '\\') {
      parts.push(one)
      continue
    }
    const next = text[++i] ?? ''
    const unicode = /^[0-9a-f]{4}$/i.test(text.slice(i + 1, i + 5))
    if (next === 'u' && unicode) {
      parts.push(String.fromCharCode(Number.parseInt(text.slice(i + 1, i + 5), 16)))
      i += 4
    } else parts.push(ESCAPED[next] ?? `\\${next}`)
  }
  throw new TextFault(at, `the string that begins here never ends: expected ${quote}`)
}
