import { _, type FuncKeywordDefinition } from 'ajv/dist/2020.js'
import { Fraction } from '../../../schemas/fraction.ts'

type ValueKeyword = FuncKeywordDefinition & { keyword: string }

/** Finds an equal value in one step, for Ajv compares each with each. */
class ValueIndex {
  readonly #plain = new Map<unknown, number>()
  readonly #composed = new Map<string, number>()
  readonly #texts: WeakMap<object, string>

  /** @param texts the texts of objects and lists, which many subschemas need */
  constructor(texts: WeakMap<object, string>, values: readonly unknown[] = []) {
    this.#texts = texts
    for (const value of values) this.add(value)
  }

  /** @returns the position of an equal value that was added before */
  add(value: unknown): number | undefined {
    const position = this.find(value)
    if (position === undefined) {
      const next = this.#plain.size + this.#composed.size
      if (isComposed(value)) this.#composed.set(this.#textOf(value), next)
      else this.#plain.set(value, next)
    }
    return position
  }

  find(value: unknown): number | undefined {
    return isComposed(value) ? this.#composed.get(this.#textOf(value)) : this.#plain.get(value)
  }

  /** JSON with its keys in order. */
  #textOf(value: unknown): string {
    if (!isComposed(value)) return JSON.stringify(value)
    const storedText = this.#texts.get(value)
    if (storedText !== undefined) return storedText
    const text = Array.isArray(value)
      ? `[${value.map((item) => this.#textOf(item)).join()}]`
      : `{${Object.entries(value)
          .map(([name, inner]) => `${JSON.stringify(name)}:${this.#textOf(inner)}`)
          .sort()
          .join()}}`
    this.#texts.set(value, text)
    return text
  }
}

const isComposed = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Ajv divides floating-point numbers, in which 0.3 is not a multiple of 0.1. */
const multipleOf: ValueKeyword = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  validate: (divisor: number, value: number) => Fraction.of(value).isMultipleOf(divisor),
  error: {
    message: 'must be a multiple',
    params: ({ schemaValue }) => _`{multipleOf: ${schemaValue}}`,
  },
}

/** Keywords that replace Ajv's: exact ones, and ones whose time does not grow with the number of choices. */
export function createValueKeywords(): ValueKeyword[] {
  const texts = new WeakMap<object, string>()
  const isOneOf = (choices: readonly unknown[]) => {
    if (choices.length === 0) throw new Error('enum must not be empty')
    const index = new ValueIndex(texts, choices)
    return (value: unknown) => index.find(value) !== undefined
  }
  const isUnique = (isRequired: boolean) => {
    const check = (items: readonly unknown[]): boolean => {
      if (!isRequired) return true
      const index = new ValueIndex(texts)
      return items.every((item, i) => {
        const j = index.add(item)
        if (j !== undefined) check.errors = [{ keyword: 'uniqueItems', params: { i, j } }]
        return j === undefined
      })
    }
    check.errors = [] as object[]
    return check
  }
  return [
    multipleOf,
    {
      keyword: 'enum',
      schemaType: 'array',
      compile: isOneOf,
      error: {
        message: 'must be a choice',
        params: ({ schemaValue }) => _`{allowedValues: ${schemaValue}}`,
      },
    },
    {
      keyword: 'const',
      compile: (expected: unknown) => isOneOf([expected]),
      error: {
        message: 'must be the constant',
        params: ({ schemaValue }) => _`{allowedValue: ${schemaValue}}`,
      },
    },
    { keyword: 'uniqueItems', type: 'array', schemaType: 'boolean', compile: isUnique },
  ]
}
