/** The order of BSON values: by type first, numbers of all types by value. */
import type { Binary, Code, Document, ObjectId, Timestamp } from 'bson'
import { bsonType, documentFields, isNumeric } from './bson-values.ts'
import { compareNumbers, compareValues, digitsBeyondParts, numberParts } from './numbers.ts'

export interface Collation {
  /** Strings that fold to the same text are equal. */
  fold(text: string): string
  compare(a: string, b: string): number
}

const TYPE_ORDERS: Record<string, number> = {
  MinKey: 1,
  Int32: 10,
  Double: 10,
  Long: 10,
  Decimal128: 10,
  BSONSymbol: 15,
  Binary: 30,
  ObjectId: 35,
  Timestamp: 47,
  BSONRegExp: 50,
  DBRef: 20,
  Code: 60,
  MaxKey: 127,
}

/**
 * The rank of a value's type in BSON order. It is the first byte of an index key, so it lies between 1 and
 * 127.
 */
export const typeOrder = (value: unknown): number => {
  switch (typeof value) {
    case 'undefined':
      return 4
    case 'number':
    case 'bigint':
      return 10
    case 'string':
      return 15
    case 'boolean':
      return 40
  }
  if (value === null) return 5
  if (Array.isArray(value)) return 25
  if (value instanceof Date) return 45
  if (value instanceof RegExp) return 50
  return TYPE_ORDERS[bsonType(value) ?? ''] ?? 20
}

// UTF-16 order differs from UTF-8 order only where surrogates are involved.
export const compareStrings = (a: string, b: string): number =>
  a === b
    ? 0
    : /[\ud800-\uffff]/.test(a + b)
      ? Buffer.compare(Buffer.from(a), Buffer.from(b))
      : compareValues(a, b)

const compareDocuments = (a: Document, b: Document, collation?: Collation): number => {
  const left = Object.entries(documentFields(a))
  const right = Object.entries(documentFields(b))
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [keyA, valueA] = left[i] as [string, unknown]
    const [keyB, valueB] = right[i] as [string, unknown]
    const difference =
      compareValues(typeOrder(valueA), typeOrder(valueB)) ||
      compareStrings(keyA, keyB) ||
      compare(valueA, valueB, collation)
    if (difference) return difference
  }
  return compareValues(left.length, right.length)
}

const compareArrays = (a: unknown[], b: unknown[], collation?: Collation): number => {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const difference = compare(a[i], b[i], collation)
    if (difference) return difference
  }
  return compareValues(a.length, b.length)
}

const text = (value: unknown): string => (typeof value === 'string' ? value : String(value))

const regexText = (value: unknown): string => {
  const { pattern, options, source, flags } = value as Record<string, string>
  return `${pattern ?? source}\0${options ?? flags}`
}

/**
 * Returns a negative number, zero or a positive one. undefined sorts before null; in a sort it represents an
 * empty array.
 */
export const compare = (a: unknown, b: unknown, collation?: Collation): number => {
  const type = typeOrder(a)
  const types = compareValues(type, typeOrder(b))
  if (types) return types
  switch (type) {
    case 10:
      return isNumeric(a) ? compareNumbers(a, b) : 0
    case 15:
      return collation ? collation.compare(text(a), text(b)) : compareStrings(text(a), text(b))
    case 20:
      return compareDocuments(a as Document, b as Document, collation)
    case 25:
      return compareArrays(a as unknown[], b as unknown[], collation)
    case 30:
      return compareBinary(a as Binary, b as Binary)
    case 35:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id)
    case 40:
      return compareValues(a as boolean, b as boolean)
    case 45:
      return compareValues((a as Date).getTime(), (b as Date).getTime())
    case 47:
      return compareValues((a as Timestamp).toBigInt(), (b as Timestamp).toBigInt())
    case 50:
      return compareValues(regexText(a), regexText(b))
    case 60:
      return compareCodes(a as Code, b as Code)
    default:
      return 0
  }
}

const compareCodes = (a: Code, b: Code): number =>
  compareValues(a.scope !== null, b.scope !== null) ||
  compareValues(String(a.code), String(b.code)) ||
  compare(a.scope ?? null, b.scope ?? null)

/** Binary data of the old subtype 2 begins with a length, which counts, too. */
export const lengthOf = (binary: Binary): number => binary.length() + (binary.sub_type === 2 ? 4 : 0)

const compareBinary = (a: Binary, b: Binary): number =>
  compareValues(lengthOf(a), lengthOf(b)) ||
  compareValues(a.sub_type, b.sub_type) ||
  Buffer.compare(a.value(), b.value())

export const isEqual = (a: unknown, b: unknown, collation?: Collation): boolean =>
  compare(a, b, collation) === 0

/** Returns the same text for two values exactly if they are equal. */
export const identityOf = (value: unknown, collation?: Collation): string => {
  const type = typeOrder(value)
  switch (type) {
    case 10:
      return `n${numberParts(value)
        .map((part) => part + 0)
        .join(':')}${digitsBeyondParts(value)}`
    case 15:
      return JSON.stringify(collation ? collation.fold(text(value)) : text(value))
    case 20: {
      const parts = Object.entries(documentFields(value as Document)).map(
        ([key, inner]) => `${JSON.stringify(key)}:${identityOf(inner, collation)}`,
      )
      return `{${parts.join()}}`
    }
    case 25:
      return `[${(value as unknown[]).map((inner) => identityOf(inner, collation)).join()}]`
    case 30:
      return `b${(value as Binary).sub_type}:${Buffer.from((value as Binary).value()).toString('base64')}`
    case 35:
      return `o${(value as ObjectId).toHexString()}`
    case 45:
      return `d${(value as Date).getTime()}`
    case 47:
      return `t${(value as Timestamp).toBigInt()}`
    case 50:
      return `r${JSON.stringify(regexText(value))}`
    case 60:
      return `c${JSON.stringify(String((value as Code).code))}${identityOf((value as Code).scope ?? null)}`
    default:
      return `${type}${value}`
  }
}

/** A set of values. Of equal values it keeps the first. */
export class ValueSet {
  readonly #values = new Map<string, unknown>()
  readonly #collation: Collation | undefined

  constructor(values: readonly unknown[] = [], collation?: Collation) {
    this.#collation = collation
    for (const value of values) this.add(value)
  }

  has(value: unknown): boolean {
    return this.#values.has(identityOf(value, this.#collation))
  }

  /** Returns false if an equal value was there already. */
  add(value: unknown): boolean {
    const name = identityOf(value, this.#collation)
    if (this.#values.has(name)) return false
    this.#values.set(name, value)
    return true
  }

  delete(value: unknown): boolean {
    return this.#values.delete(identityOf(value, this.#collation))
  }

  get size(): number {
    return this.#values.size
  }

  get values(): unknown[] {
    return [...this.#values.values()]
  }
}
