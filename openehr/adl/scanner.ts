import { TextSyntaxError } from '../formats/text-syntax-error.ts'

/** Maximum nesting of braces and angle brackets. */
const MAX_NESTING = 100

const BLANK_OR_COMMENT = /(?:\s|--[^\n]*(?:\n|$))+/y

/** Reads a section of an archetype token by token. */
export class AdlScanner {
  readonly #text: string
  #position: number
  #depth = 0

  /** @param text up to the end of the section; @param from offset of its beginning */
  constructor(text: string, from: number) {
    this.#text = text
    this.#position = from
  }

  /** Offset of the next token. */
  get position(): number {
    BLANK_OR_COMMENT.lastIndex = this.#position
    if (BLANK_OR_COMMENT.test(this.#text)) this.#position = BLANK_OR_COMMENT.lastIndex
    return this.#position
  }

  /** Whether the next token matches. @param pattern sticky */
  isNext(pattern: RegExp): boolean {
    pattern.lastIndex = this.position
    return pattern.test(this.#text)
  }

  /** Takes the next token if it matches. @param pattern sticky */
  take(pattern: RegExp): string | undefined {
    if (!this.isNext(pattern)) return undefined
    const text = this.#text.slice(this.#position, pattern.lastIndex)
    this.#position = pattern.lastIndex
    return text
  }

  /** @throws TextSyntaxError when the next token does not match */
  expect(pattern: RegExp, expected: string): string {
    return this.take(pattern) ?? this.fail(expected)
  }

  /**
   * Takes a quoted text if it comes next, and resolves its escapes.
   * @throws TextSyntaxError when the closing quote is missing
   */
  takeQuoted(quote: '"' | '/' | '^'): string | undefined {
    const begin = this.position
    if (this.#text[begin] !== quote) return undefined
    for (let i = begin + 1; i < this.#text.length; i++) {
      if (this.#text[i] === '\\') i++
      else if (this.#text[i] === quote) {
        this.#position = i + 1
        return this.#text.slice(begin + 1, i).replaceAll(/\\(["\\])/g, '$1')
      }
    }
    throw new TextSyntaxError(begin, `the text that begins here does not end: expected ${quote}`)
  }

  /** @throws TextSyntaxError when the nesting is too deep */
  readNested<T>(work: () => T): T {
    if (++this.#depth > MAX_NESTING)
      throw new TextSyntaxError(this.#position, `is nested deeper than ${MAX_NESTING} levels`)
    const result = work()
    this.#depth--
    return result
  }

  /** @throws TextSyntaxError unless the section ends here */
  expectEnd(expected: string): void {
    if (this.position < this.#text.length) this.fail(expected)
  }

  fail(expected: string): never {
    const rest = this.#text.slice(this.position, this.position + 30).split('\n', 1)[0]
    const next = rest === '' ? 'the end of the section' : JSON.stringify(rest)
    throw new TextSyntaxError(this.#position, `expected ${expected}, found ${next}`)
  }
}
