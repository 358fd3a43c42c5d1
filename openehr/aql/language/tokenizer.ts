import { TextSyntaxError } from '../../formats/text-syntax-error.ts'
import { ARCHETYPE_ID_PATTERN, NODE_ID_PATTERN } from '../../rm/node-ids.ts'

export interface Token {
  kind: 'word' | 'code' | 'number' | 'string' | 'parameter' | 'symbol' | 'end'
  /** The text of the token; of a string its content, of a parameter its name. */
  text: string
  position: number
  /** Offset after its end. */
  to: number
}

const SPACE_OR_COMMENT = /(?:\s|--[^\n]*(?:\n|$))+/y

/** The order matters: a longer token comes before a shorter one with the same beginning. */
const TOKEN_PATTERNS: readonly [kind: Exclude<Token['kind'], 'end' | 'string'>, pattern: RegExp][] = [
  ['code', new RegExp(ARCHETYPE_ID_PATTERN, 'y')],
  // A term: snomed_ct::22298006, or with its text, snomed_ct::22298006|Myocardial infarction|
  ['code', /[a-z][\w.-]{0,100}(?:\([\w.-]{0,100}\))?::[\w.-]+(?:\|[^|\n]{0,1000}\|)?/iy],
  ['code', new RegExp(`${NODE_ID_PATTERN}(?!\\w)`, 'y')],
  // Keywords and names, including `_type`, which every object has.
  ['word', /[a-z_]\w*/iy],
  ['number', /(?:\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?(?!\w)/iy],
  ['parameter', /\$[a-z_]\w*/iy],
  ['symbol', /!=|<>|<=|>=|[=<>(),{}[\]/*;-]/y],
]

/** @throws TextSyntaxError where no token begins */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let position = skipSpace(text, 0)
  while (position < text.length) {
    const token = readToken(text, position)
    tokens.push(token)
    position = skipSpace(text, token.to)
  }
  return [...tokens, { kind: 'end', text: '', position: text.length, to: text.length }]
}

function skipSpace(text: string, position: number): number {
  SPACE_OR_COMMENT.lastIndex = position
  return SPACE_OR_COMMENT.test(text) ? SPACE_OR_COMMENT.lastIndex : position
}

function readToken(text: string, position: number): Token {
  const first = text[position] as string
  if (first === "'" || first === '"') return readString(text, position)
  if (first === '{' && text[skipSpace(text, position + 1)] === '/')
    throw new TextSyntaxError(position, 'regular expressions are not supported: use =, !=, <, <=, > or >=')
  for (const [kind, pattern] of TOKEN_PATTERNS) {
    pattern.lastIndex = position
    const token = pattern.exec(text)?.[0]
    if (token === undefined) continue
    const tokenText = kind === 'parameter' ? token.slice(1) : token.replace(/\|.*/, '')
    return { kind, text: tokenText, position, to: position + token.length }
  }
  if (text.startsWith('://', position))
    throw new TextSyntaxError(position, 'URIs of terminologies are not supported: list the codes')
  throw new TextSyntaxError(position, `the character ${JSON.stringify(first)} is not allowed here`)
}

const ESCAPE_SEQUENCES: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '\\': '\\',
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
}

/** Keeps the backslash of unknown escapes, because in a pattern `\*` is an asterisk. */
function readString(text: string, position: number): Token {
  const quote = text[position]
  const parts: string[] = []
  for (let i = position + 1; i < text.length; i++) {
    const one = text[i] as string
    if (one === quote) return { kind: 'string', text: parts.join(''), position, to: i + 1 }
    if (one !== '\\') {
      parts.push(one)
      continue
    }
    const next = text[++i] ?? ''
    const unicode = /^[0-9a-f]{4}$/i.test(text.slice(i + 1, i + 5))
    if (next === 'u' && unicode) {
      parts.push(String.fromCharCode(Number.parseInt(text.slice(i + 1, i + 5), 16)))
      i += 4
    } else parts.push(ESCAPE_SEQUENCES[next] ?? `\\${next}`)
  }
  throw new TextSyntaxError(position, `the string that begins here does not end: expected ${quote}`)
}
