/** Decodes index keys directly into BSON bytes, without a JavaScript value for each component. */

import { bsonType, toNumber } from '../../../values/bson-values.ts'
import { type Collation, typeOrder } from '../../../values/compare.ts'
import { type Run, viewOf } from '../../../values/raw-documents.ts'
import { SPACE_BYTES } from './key-encoding.ts'

/** The type bytes with which components begin. */
export const NUMBER = 10
const TEXT = 15
const OBJECT_ID = 35
const BOOLEAN = 40
const DATE = 45

/**
 * Whether a key gives the value back. A key does not know a number's type, so it assumes the one that drivers
 * choose.
 */
export const isLosslessInKey = (value: unknown, collation?: Collation): boolean => {
  switch (typeOrder(value)) {
    case NUMBER:
      return isPlainNumber(value)
    case TEXT:
      return typeof value === 'string' && collation === undefined
    case OBJECT_ID:
    case BOOLEAN:
    case DATE:
      return true
    default:
      // For null and missing values the reader reports that the key is ambiguous.
      return value === null || value === undefined
  }
}

const isPlainNumber = (value: unknown): boolean => {
  const type = bsonType(value)
  if (type === 'Int32') return true
  const number = toNumber(value)
  return (type === 'Double' || typeof value === 'number') && !isInt32(number) && !Number.isNaN(number)
}

/** Minus zero also counts: it is no Int32, but has the same key as zero. */
export const isInt32 = (number: number): boolean => (number | 0) === number

/** A component of a key and the field that it becomes; undefined: the component is skipped. */
export interface KeyPart {
  name: string | undefined
  descending: boolean
}

/** Bounds the text in a key: the two bytes of an escaped zero become one. */
const MAX_KEY_BYTES = 2000

/** Builds documents from keys, one after the other in the same buffer. */
export class KeyReader {
  /** The components that it reads. */
  readonly components: readonly number[]
  /** Each part with the mask that its bytes are XORed with: no bits, or all. */
  readonly #parts: { head: Head | undefined; mask: 0 | -1 }[]
  readonly #maxDocumentBytes: number
  /** The first part to read in each key, and its offset. */
  #first = 0
  #offset = SPACE_BYTES
  #key: Uint8Array = new Uint8Array()
  #source = viewOf(this.#key)
  #slab = Buffer.alloc(0)
  #target = viewOf(this.#slab)
  /** The start of the last document, and its end. */
  #last = 0
  #to = 0

  constructor(parts: readonly KeyPart[]) {
    this.components = [...parts.keys()].filter((at) => parts[at]?.name !== undefined)
    this.#parts = parts.map(({ name, descending }) => ({
      head: name === undefined ? undefined : headOf(name),
      mask: descending ? -1 : 0,
    }))
    this.#maxDocumentBytes = this.#parts.reduce(
      (sum, { head }) => sum + (head?.length ?? 0) + 8,
      MAX_KEY_BYTES,
    )
  }

  /**
   * All following keys begin with these bytes, which are whole components. Skipped components among them are
   * not parsed again.
   */
  expect(prefix: Uint8Array): void {
    for (const { head, mask } of this.#parts) {
      const from = this.#offset
      const end =
        head || from >= prefix.length ? -1 : endOfComponent(prefix, from, typeAt(prefix, from, mask), mask)
      if (end < 0) return
      this.#offset = end
      this.#first++
    }
  }

  /** The documents appended since the last call. Their bytes are reused once the caller asks for more. */
  *take(): Iterable<Run> {
    if (this.#to > 0) yield this.#slab.subarray(0, this.#to)
    this.#to = 0
  }

  /** Discards the last document. */
  undo(): void {
    this.#to = this.#last
  }

  /**
   * @param key contains a key that begins at `first`
   * @returns false where the key is ambiguous: null may also stand for a missing value
   */
  append(key: Uint8Array, first: number): boolean {
    if (this.#slab.length - this.#to < this.#maxDocumentBytes) this.#makeRoom()
    if (this.#key !== key) this.#source = viewOf(key)
    this.#key = key
    const source = this.#source
    const target = this.#target
    const parts = this.#parts
    const start = this.#to
    let from = first + this.#offset
    let to = start + 4
    for (let i = this.#first; i < parts.length; i++) {
      const { head, mask } = parts[i] as (typeof parts)[number]
      const type = typeAt(key, from, mask)
      if (head) {
        putHead(target, to, head)
        to = putValue(target, to, to + head.length, key, source, from, type, mask)
        if (to < 0) return false
      }
      from = endOfComponent(key, from, type, mask)
      if (from < 0) return false
    }
    target.setUint8(to++, 0)
    target.setInt32(start, to - start, true)
    this.#last = start
    this.#to = to
    return true
  }

  #makeRoom(): void {
    const larger = Buffer.allocUnsafe(2 * (this.#slab.length + this.#maxDocumentBytes))
    this.#slab.copy(larger, 0, 0, this.#to)
    this.#slab = larger
    this.#target = viewOf(larger)
  }
}

export const typeAt = (key: Uint8Array, from: number, mask: number): number =>
  ((key[from] as number) ^ mask) & 0xff

/**
 * A type byte, still unknown, and a field name. It is written four bytes at a time; later bytes overwrite the
 * surplus.
 */
interface Head {
  words: number[]
  length: number
}

const headOf = (name: string): Head => {
  const bytes = Buffer.from(`?${name}\0`)
  const words = Buffer.alloc(bytes.length + 3)
  bytes.copy(words)
  return {
    words: Array.from({ length: Math.ceil(bytes.length / 4) }, (_, i) => words.readInt32LE(4 * i)),
    length: bytes.length,
  }
}

const putHead = (target: DataView, to: number, { words }: Head): void => {
  for (let i = 0; i < words.length; i++) target.setInt32(to + 4 * i, words[i] as number, true)
}

/**
 * Writes the value of a component, and its type at `head`.
 * @returns the end of the value; -1: the key is ambiguous
 */
const putValue = (
  target: DataView,
  head: number,
  to: number,
  key: Uint8Array,
  source: DataView,
  from: number,
  type: number,
  mask: number,
): number => {
  const at = from + 1
  switch (type) {
    case NUMBER:
      return putNumber(target, head, to, source, at, mask)
    case TEXT:
      target.setUint8(head, 2)
      return putText(target, to, key, at, mask)
    case OBJECT_ID:
      target.setUint8(head, 7)
      for (let i = 0; i < 12; i++) target.setUint8(to + i, (key[at + i] as number) ^ mask)
      return to + 12
    case BOOLEAN:
      target.setUint8(head, 8)
      target.setUint8(to, (key[at] as number) ^ mask)
      return to + 1
    case DATE:
      target.setUint8(head, 9)
      target.setInt32(to, source.getInt32(at + 4) ^ mask, true)
      target.setInt32(to + 4, source.getInt32(at) ^ mask ^ SIGN, true)
      return to + 8
    default:
      return -1
  }
}

const SIGN = 1 << 31
const double = new DataView(new ArrayBuffer(8))

/** Numbers as drivers write them: integers that fit become Int32. */
const putNumber = (
  target: DataView,
  head: number,
  to: number,
  source: DataView,
  at: number,
  mask: number,
): number => {
  const number = numberAt(source, at, mask)
  if (isInt32(number)) {
    target.setUint8(head, 16)
    target.setInt32(to, number, true)
    return to + 4
  }
  target.setUint8(head, 1)
  target.setFloat64(to, number, true)
  return to + 8
}

export const numberAt = (source: DataView, at: number, mask: number): number => {
  const first = source.getInt32(at) ^ mask
  const isNegative = first >= 0
  // Only the sign bit of a number that is not negative is flipped.
  if (!isNegative && mask === 0) return -source.getFloat64(at)
  double.setInt32(0, isNegative ? ~first : first ^ SIGN)
  double.setInt32(4, source.getInt32(at + 4) ^ (isNegative ? ~mask : mask))
  return double.getFloat64(0)
}

const putText = (target: DataView, to: number, key: Uint8Array, from: number, mask: number): number => {
  let end = to + 4
  for (let at = from; !isEnd(key, at, mask); at++) {
    const byte = ((key[at] as number) ^ mask) & 0xff
    target.setUint8(end++, byte)
    // A second byte distinguishes an escaped zero from the end of the text.
    if (byte === 0) at++
  }
  target.setUint8(end++, 0)
  target.setInt32(to, end - to - 4, true)
  return end
}

const isEnd = (key: Uint8Array, at: number, mask: number): boolean =>
  key[at] === (mask & 0xff) && key[at + 1] === (mask & 0xff)

/** The start of the next component; -1: unknown. */
export const endOfComponent = (key: Uint8Array, from: number, type: number, mask: number): number => {
  switch (type) {
    case NUMBER:
      return from + ((((key[from + 9] as number) ^ mask) & 0xff) === 2 ? 10 : 18)
    case TEXT: {
      const zero = mask & 0xff
      for (let at = from + 1; ; at++) if (key[at] === zero && key[++at] === zero) return at + 1
    }
    case OBJECT_ID:
      return from + 13
    case BOOLEAN:
      return from + 2
    case DATE:
      return from + 9
    case 4:
    case 5:
      return from + 1
    default:
      return -1
  }
}
