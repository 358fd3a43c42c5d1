import { lookUp } from '../../../schemas/validation/look-up.ts'
import { TextSyntaxError } from '../../formats/text-syntax-error.ts'
import type { Constant, LiteralValue } from './ast.ts'
import { type Token, tokenize } from './tokenizer.ts'

/** Maximum nesting of parentheses, CONTAINS, NOT, functions and predicates. */
const MAX_NESTING = 40

/** Keywords, which no variable may have as its name. */
const RESERVED_WORDS = new Set(
  'SELECT AS FROM WHERE ORDER BY LIMIT OFFSET CONTAINS AND OR NOT EXISTS LIKE MATCHES DISTINCT ASC DESC'.split(
    ' ',
  ),
)

/** Reads the tokens of a query one by one. */
export class TokenReader {
  readonly text: string
  readonly #tokens: Token[]
  #next = 0
  #depth = 0

  constructor(text: string) {
    this.text = text
    this.#tokens = tokenize(text)
  }

  /** The next token, or a later one, without taking it. */
  peek(ahead = 0): Token {
    return this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)] as Token
  }

  take(): Token {
    const token = this.peek()
    this.#next++
    return token
  }

  /** Offset after the last token that was taken. */
  get end(): number {
    return this.#tokens[this.#next - 1]?.to ?? 0
  }

  /** @throws TextSyntaxError */
  fail(expected: string, token = this.peek()): never {
    const tokenText =
      token.kind === 'end' ? 'the end of the query' : quoteToken(this.text.slice(token.position, token.to))
    throw new TextSyntaxError(token.position, `expected ${expected}, found ${tokenText}`)
  }

  isWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'word' && token.text.toUpperCase() === word
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token.kind === 'symbol' && token.text === symbol
  }

  /** Takes the word if it comes next. */
  word(word: string): boolean {
    const isNext = this.isWord(word)
    if (isNext) this.#next++
    return isNext
  }

  /** Takes the symbol if it comes next. */
  symbol(symbol: string): boolean {
    const isNext = this.isSymbol(symbol)
    if (isNext) this.#next++
    return isNext
  }

  expect(wordOrSymbol: string): void {
    if (!this.word(wordOrSymbol) && !this.symbol(wordOrSymbol)) this.fail(wordOrSymbol)
  }

  /** Whether the next token is a name, not a keyword. */
  isName(): boolean {
    const { kind, text } = this.peek()
    if (kind === 'code') return /^\w+$/.test(text)
    return kind === 'word' && !RESERVED_WORDS.has(text.toUpperCase())
  }

  takeName(expected: string): string {
    if (!this.isName()) this.fail(expected)
    return this.take().text
  }

  readInteger(expected: string): number {
    const token = this.peek()
    if (token.kind !== 'number' || !/^\d{1,16}$/.test(token.text)) this.fail(expected)
    const value = Number(this.take().text)
    if (!Number.isSafeInteger(value))
      throw new TextSyntaxError(token.position, `${expected} must be below 2^53`)
    return value
  }

  /** Takes a literal or a parameter; undefined if neither comes next. */
  readConstant(): Constant | undefined {
    const { kind, text, position } = this.peek()
    if (kind === 'parameter') return { kind: 'parameter', name: this.take().text, position }
    if (kind === 'string') return { kind: 'literal', value: this.take().text, position }
    if (kind === 'number') return { kind: 'literal', value: this.#number(), position }
    if (this.isSymbol('-')) return { kind: 'literal', value: this.#readNegative(), position }
    const literal = kind === 'word' ? lookUp(NAMED_LITERALS, text.toUpperCase()) : undefined
    if (literal === undefined || this.isSymbol('/', 1) || this.isSymbol('[', 1)) return undefined
    this.take()
    return { kind: 'literal', value: literal.value, position }
  }

  #readNegative(): number {
    let sign = 1
    while (this.symbol('-')) sign = -sign
    if (this.peek().kind !== 'number') this.fail('a number')
    return sign * this.#number()
  }

  #number(): number {
    const token = this.take()
    const value = Number(token.text)
    if (!Number.isFinite(value)) throw new TextSyntaxError(token.position, 'this number is too large')
    return value
  }

  /** Reads a construct that may be nested in itself, and limits its depth. */
  readNested<T>(read: () => T): T {
    if (++this.#depth > MAX_NESTING)
      throw new TextSyntaxError(this.peek().position, `the query is nested deeper than ${MAX_NESTING} levels`)
    const result = read()
    this.#depth--
    return result
  }

  /** Reads a construct in parentheses or brackets; undefined if it does not come next. */
  readEnclosed<T>(open: '(' | '[', read: () => T): T | undefined {
    if (!this.symbol(open)) return undefined
    const result = this.readNested(read)
    this.expect(open === '(' ? ')' : ']')
    return result
  }

  /** Reads terms joined by AND and OR; AND binds more tightly. */
  readLogical<T>(read: () => T, join: (kind: 'and' | 'or', terms: T[]) => T): T {
    const readJoined = (kind: 'and' | 'or', readTerm: () => T): T => {
      const terms = [readTerm()]
      while (this.word(kind.toUpperCase())) terms.push(readTerm())
      return terms.length === 1 ? (terms[0] as T) : join(kind, terms)
    }
    return readJoined('or', () => readJoined('and', read))
  }

  /** Reads items separated by commas. */
  readList<T>(read: () => T): T[] {
    const items = [read()]
    while (this.symbol(',')) items.push(read())
    return items
  }
}

const NAMED_LITERALS: Readonly<Record<string, { value: LiteralValue }>> = {
  TRUE: { value: true },
  FALSE: { value: false },
  NULL: { value: null },
}

const quoteToken = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)
