import { TextFault } from '../formats/text-fault.ts'

/** How deeply braces and angle brackets may be nested. */
const DEEPEST = 100

const BLANK = /(?:\s+|--[^\n]*)+/y

/** Goes through a section of an archetype. */
export class Scanner {
  readonly #text: string
  #at: number
  #depth = 0

  /** @param text up to the end of the section; @param from where it begins */
  constructor(text: string, from: number) {
    this.#text = text
    this.#at = from
  }

  /** Where what comes next begins. */
  get at(): number {
    BLANK.lastIndex = this.#at
    if (BLANK.test(this.#text)) this.#at = BLANK.lastIndex
    return this.#at
  }

  /** Whether this comes next. @param pattern sticky */
  sees(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    return pattern.test(this.#text)
  }

  /** Takes what comes next, if it is this. @param pattern sticky */
  take(pattern: RegExp): string | undefined {
    if (!this.sees(pattern)) return undefined
    const found = this.#text.slice(this.#at, pattern.lastIndex)
    this.#at = pattern.lastIndex
    return found
  }

  /** @throws TextFault when something else comes next */
  need(pattern: RegExp, expected: string): string {
    return this.take(pattern) ?? this.fail(expected)
  }

  /** What stands between two quotes, if one comes next; what is escaped, without its backslash. @throws TextFault when it never ends */
  quoted(quote: '"' | '/' | '^'): string | undefined {
    const begin = this.at
    if (this.#text[begin] !== quote) return undefined
    for (let i = begin + 1; i < this.#text.length; i++) {
      if (this.#text[i] === '\\') i++
      else if (this.#text[i] === quote) {
        this.#at = i + 1
        return this.#text.slice(begin + 1, i).replaceAll(/\\(["\\])/g, '$1')
      }
    }
    throw new TextFault(begin, `what begins here never ends: expected ${quote}`)
  }

  /** @throws TextFault when it goes too deep */
  nested<T>(work: () => T): T {
    if (++this.#depth > DEEPEST) throw new TextFault(this.#at, `is nested deeper than ${DEEPEST} levels`)
    const done = work()
    this.#depth--
    return done
  }

  /** @throws TextFault unless the section ends here */
  end(expected: string): void {
    if (this.at < this.#text.length) this.fail(expected)
  }

  fail(expected: string): never {
    const rest = this.#text.slice(this.at, this.at + 30).split('\n', 1)[0]
    const found = rest === '' ? 'the end of the section' : JSON.stringify(rest)
    throw new TextFault(this.#at, `expected ${expected}, found ${found}`)
  }
}
