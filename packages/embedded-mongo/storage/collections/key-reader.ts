/** The way back from index keys: BSON made of them as they lie there, without a value for each component. */
import { type Collation, typeOrder } from '../../values/compare.ts'
import type { Run } from '../../values/raw.ts'
import { bsonType, toNumber } from '../../values/values.ts'

/** What stands first in a component, by its type. */
const NUMBER = 10
const TEXT = 15
const OBJECT_ID = 35
const BOOLEAN = 40
const DATE = 45

/** Whether a key gives the value back: it knows no number's type but the one that JavaScript's drivers choose. */
export const isKept = (value: unknown, collation?: Collation): boolean => {
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
      // Of what is null or nothing a key says that it does not know.
      return value === null || value === undefined
  }
}

const isPlainNumber = (value: unknown): boolean => {
  const type = bsonType(value)
  if (type === 'Int32') return true
  const number = toNumber(value)
  return (type === 'Double' || typeof value === 'number') && !isInt32(number) && !Number.isNaN(number)
}

/** Also zero with a minus, which is no Int32 and has the key of the one without. */
const isInt32 = (number: number): boolean => (number | 0) === number

/** A component of a key, and the field that it becomes; undefined: it is passed over. */
export interface Part {
  name: string | undefined
  descending: boolean
}

/** What the space's number takes of a key. */
const SPACE_BYTES = 4
/** No text in a key is longer, and the two bytes for a zero become one. */
const MOST_OF_KEY = 2000
/** Bytes that are taken at a time for many documents. */
const SLAB = 1 << 18

/** Makes documents of keys, one behind the other. */
export class KeyReader {
  /** With the bits that are turned: none, or all. */
  readonly #parts: { head: Buffer | undefined; mask: 0 | -1 }[]
  readonly #most: number
  #slab = Buffer.alloc(0)
  /** Where the documents begin that nobody has taken, where the last one of them does, and where it ends. */
  #from = 0
  #last = 0
  #to = 0

  constructor(parts: readonly Part[]) {
    this.#parts = parts.map(({ name, descending }) => ({
      head: name === undefined ? undefined : Buffer.from(`?${name}\0`),
      mask: descending ? -1 : 0,
    }))
    this.#most = this.#parts.reduce((sum, { head }) => sum + (head?.length ?? 0) + 8, MOST_OF_KEY)
  }

  /** Those that have been appended since. */
  *take(): Iterable<Run> {
    if (this.#to > this.#from) yield this.#slab.subarray(this.#from, this.#to)
    this.#from = this.#to
  }

  /** Forgets the last one. */
  undo(): void {
    this.#to = this.#last
  }

  /**
   * @param key where a key begins at `first`
   * @returns false where it does not tell: null stands for a missing value, too
   */
  append(key: Uint8Array, first: number): boolean {
    if (this.#slab.length - this.#to < this.#most) this.#makeRoom()
    const slab = this.#slab
    const start = this.#to
    let from = first + SPACE_BYTES
    let to = start + 4
    for (const { head, mask } of this.#parts) {
      const type = ((key[from] as number) ^ mask) & 0xff
      if (head) {
        for (let i = 0; i < head.length; i++) slab[to + i] = head[i] as number
        to = putValue(slab, to, to + head.length, key, from, type, mask)
        if (to < 0) return false
      }
      from = pastComponent(key, from, type, mask)
      if (from < 0) return false
    }
    slab[to++] = 0
    putInt32(slab, start, to - start)
    this.#last = start
    this.#to = to
    return true
  }

  #makeRoom(): void {
    const left = this.#slab.subarray(this.#from, this.#to)
    this.#slab = Buffer.allocUnsafe(SLAB + left.length + this.#most)
    left.copy(this.#slab)
    this.#from = 0
    this.#to = left.length
  }
}

/** Writes what a component says, and its type at `head`. @returns where it ends; -1: it does not tell */
const putValue = (
  slab: Buffer,
  head: number,
  to: number,
  key: Uint8Array,
  from: number,
  type: number,
  mask: number,
): number => {
  const at = from + 1
  switch (type) {
    case NUMBER:
      return putNumber(slab, head, to, key, at, mask)
    case TEXT:
      slab[head] = 2
      return putText(slab, to, key, at, mask)
    case OBJECT_ID:
      slab[head] = 7
      for (let i = 0; i < 12; i++) slab[to + i] = (key[at + i] as number) ^ mask
      return to + 12
    case BOOLEAN:
      slab[head] = 8
      slab[to] = (key[at] as number) ^ mask
      return to + 1
    case DATE:
      slab[head] = 9
      putInt32(slab, to, wordAt(key, at + 4) ^ mask)
      return putInt32(slab, to + 4, wordAt(key, at) ^ mask ^ SIGN)
    default:
      return -1
  }
}

/** Four bytes of a key at once. */
const wordAt = (key: Uint8Array, at: number): number =>
  ((key[at] as number) << 24) |
  ((key[at + 1] as number) << 16) |
  ((key[at + 2] as number) << 8) |
  (key[at + 3] as number)

/** `writeInt32LE` takes longer, for what it checks. @returns where it ends */
const putInt32 = (slab: Buffer, at: number, value: number): number => {
  slab[at] = value
  slab[at + 1] = value >> 8
  slab[at + 2] = value >> 16
  slab[at + 3] = value >> 24
  return at + 4
}

const SIGN = 1 << 31
const double = new DataView(new ArrayBuffer(8))

/** As drivers write a number: whole ones as Int32 where they fit. */
const putNumber = (
  slab: Buffer,
  head: number,
  to: number,
  key: Uint8Array,
  at: number,
  mask: number,
): number => {
  const first = wordAt(key, at) ^ mask
  const isNegative = first >= 0
  const upper = isNegative ? ~first : first ^ SIGN
  const lower = wordAt(key, at + 4) ^ (isNegative ? ~mask : mask)
  double.setInt32(0, upper)
  double.setInt32(4, lower)
  const number = double.getFloat64(0)
  slab[head] = isInt32(number) ? 16 : 1
  return isInt32(number) ? putInt32(slab, to, number) : putInt32(slab, putInt32(slab, to, lower), upper)
}

const putText = (slab: Buffer, to: number, key: Uint8Array, from: number, mask: number): number => {
  let end = to + 4
  for (let at = from; !isEnd(key, at, mask); at++) {
    slab[end] = (key[at] as number) ^ mask
    // A zero is followed by what tells it from the end.
    if (slab[end++] === 0) at++
  }
  slab[end++] = 0
  slab.writeInt32LE(end - to - 4, to)
  return end
}

const isEnd = (key: Uint8Array, at: number, mask: number): boolean =>
  key[at] === (mask & 0xff) && key[at + 1] === (mask & 0xff)

/** Where the next component begins; -1: nobody knows. */
const pastComponent = (key: Uint8Array, from: number, type: number, mask: number): number => {
  switch (type) {
    case NUMBER:
      return from + ((((key[from + 9] as number) ^ mask) & 0xff) === 2 ? 10 : 18)
    case TEXT: {
      let at = from + 1
      while (!isEnd(key, at, mask)) at += key[at] === (mask & 0xff) ? 2 : 1
      return at + 2
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
