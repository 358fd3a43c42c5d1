/** Index keys: bytes that sort like BSON values. Besides this file, only key-reader.ts knows their format. */
import { createHash } from 'node:crypto'
import type { Binary, Document, ObjectId, Timestamp } from 'bson'
import { documentFields } from '../../../values/bson-values.ts'
import { type Collation, lengthOf, typeOrder } from '../../../values/compare.ts'
import { numberParts } from '../../../values/numbers.ts'

/** lmdb allows 1978 bytes for a key. The space, a record id and the hash of a long key need the rest. */
const MAX_KEY_BYTES = 1900
const KEPT_BYTES = MAX_KEY_BYTES - 20

/** The bytes of the space number at the start of each key. */
export const SPACE_BYTES = 4

/** The properties of an index that decide the form of its keys. */
interface Encoding {
  readonly space: number
  readonly descending: readonly boolean[]
  readonly collation: Collation | undefined
}

/**
 * An entry as stored: the number of the index's space, the values, and the suffix that identifies the record.
 */
export const encodeEntry = (
  { space, descending, collation }: Encoding,
  values: readonly unknown[],
  end: Uint8Array,
): Buffer => {
  length = SPACE_BYTES
  putComponents(values, descending, collation)
  return finishEntry(space, end)
}

/** Encodes one entry for each element in one component. The parts that the entries share are encoded once. */
export const encodeEntries = (
  { space, descending, collation }: Encoding,
  values: readonly unknown[],
  at: number,
  elements: readonly unknown[],
  end: Uint8Array,
): Buffer[] => {
  const behind = components(values.slice(at + 1), descending.slice(at + 1), collation)
  length = SPACE_BYTES
  putComponents(values.slice(0, at), descending, collation)
  const before = length
  return elements.map((element) => {
    length = before
    append(element, collation)
    if (descending[at]) invert(scratch, before, length)
    putBytes(behind)
    return finishEntry(space, end)
  })
}

/**
 * The scratch bytes as the key of an entry. Beyond MAX_KEY_BYTES they are hashed, so that equal keys stay equal.
 */
const finishEntry = (space: number, end: Uint8Array): Buffer => {
  scratch.writeUInt32BE(space)
  if (length - SPACE_BYTES > MAX_KEY_BYTES) {
    // The scratch bytes stay: the next entry may begin with the same ones.
    const hash = createHash('sha1').update(scratch.subarray(SPACE_BYTES, length)).digest()
    return Buffer.concat([scratch.subarray(0, SPACE_BYTES + KEPT_BYTES), hash, end])
  }
  putBytes(end)
  return copyOfScratch()
}

/** Whether a key may have been cut, which loses its order. @param end the suffix of the key */
export const isPossiblyCut = (key: Uint8Array, end: Uint8Array): boolean =>
  key.length - SPACE_BYTES - end.length >= MAX_KEY_BYTES

/** Keys are written here before they are copied: they are short, and there are many. */
let scratch = Buffer.allocUnsafe(4096)
let length = 0

const makeRoom = (bytes: number): void => {
  if (length + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafe(2 * (length + bytes))
  scratch.copy(larger, 0, 0, length)
  scratch = larger
}

const putByte = (byte: number): void => {
  makeRoom(1)
  scratch[length++] = byte
}

const putBytes = (bytes: Uint8Array): void => {
  makeRoom(bytes.length)
  scratch.set(bytes, length)
  length += bytes.length
}

const components = (
  values: readonly unknown[],
  descending: readonly boolean[],
  collation?: Collation,
): Buffer => {
  length = 0
  putComponents(values, descending, collation)
  return copyOfScratch()
}

const putComponents = (
  values: readonly unknown[],
  descending: readonly boolean[],
  collation?: Collation,
): void => {
  for (let i = 0; i < values.length; i++) {
    const from = length
    append(values[i], collation)
    if (descending[i]) invert(scratch, from, length)
  }
}

const copyOfScratch = (): Buffer => {
  const bytes = Buffer.allocUnsafe(length)
  scratch.copy(bytes, 0, 0, length)
  return bytes
}

const invert = (bytes: Buffer, from: number, to: number): void => {
  for (let at = from; at < to; at++) bytes[at] = ~(bytes[at] as number)
}

/**
 * One end of a range of keys. A bound longer than a key can be is cut, and then covers all keys that share
 * the cut.
 */
export const encodeBound = (
  { space, descending, collation }: Encoding,
  values: readonly unknown[],
): Buffer => {
  length = SPACE_BYTES
  putComponents(values, descending, collation)
  length = Math.min(length, SPACE_BYTES + KEPT_BYTES)
  scratch.writeUInt32BE(space)
  return copyOfScratch()
}

/** The bytes with which every text starts that begins with `prefix`. */
export const textPrefix = (prefix: string, descending: boolean): Buffer => {
  const key = components([prefix], [descending])
  return key.subarray(0, Math.min(key.length - 2, KEPT_BYTES))
}

/** The smallest bytes above all keys that start with `prefix`. */
export const endOfPrefix = (prefix: Buffer): Buffer => {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === 0xff) end--
  const bytes = Buffer.allocUnsafe(end)
  prefix.copy(bytes, 0, 0, end)
  if (end > 0) bytes[end - 1] = (bytes[end - 1] as number) + 1
  return bytes
}

/** The first byte of every key of a value's type. All of these keys lie between it and its `endOfPrefix`. */
export const typePrefix = (value: unknown, descending: boolean): Buffer => {
  const type = typeOrder(value)
  return Buffer.of(descending ? ~type : type)
}

const append = (value: unknown, collation?: Collation): void => {
  const type = typeOrder(value)
  switch (type) {
    case 10:
      putNumber(value)
      break
    case 15:
      putByte(type)
      putText(collation ? collation.fold(String(value)) : String(value))
      break
    case 20:
      appendDocument(value as Document, collation)
      break
    case 25:
      putByte(type)
      for (const element of value as unknown[]) append(element, collation)
      putByte(0)
      break
    default:
      putByte(type)
      putScalar(type, value)
  }
}

const appendDocument = (value: Document, collation?: Collation): void => {
  putByte(20)
  for (const [name, inner] of Object.entries(documentFields(value))) {
    putByte(typeOrder(inner))
    putText(name)
    append(inner, collation)
  }
  putByte(0)
}

/**
 * The type, the double with its sign bit arranged for byte order, then the remainder that the double cannot
 * hold.
 */
const putNumber = (value: unknown): void => {
  const [near, rest] = numberParts(value)
  putByte(10)
  putDouble(near)
  putByte(rest === 0 ? 2 : rest < 0 ? 1 : 3)
  if (rest !== 0) putDouble(rest)
}

const putDouble = (value: number): void => {
  makeRoom(8)
  const at = length
  length += 8
  if (Number.isNaN(value)) {
    scratch.fill(0, at, length)
    return
  }
  scratch.writeDoubleBE(value === 0 ? 0 : value, at)
  if (value < 0) invert(scratch, at, length)
  else scratch[at] = (scratch[at] as number) | 0x80
}

/**
 * A text ends with two zero bytes. Zeros inside are escaped, so no text is a prefix of another one's bytes.
 */
const putText = (text: string): void => {
  for (const [i, part] of (text.includes('\0') ? text.split('\0') : [text]).entries()) {
    if (i > 0) putPair(0, 0xff)
    makeRoom(3 * part.length)
    length += scratch.write(part, length)
  }
  putPair(0, 0)
}

const putPair = (first: number, second: number): void => {
  makeRoom(2)
  scratch[length++] = first
  scratch[length++] = second
}

/** A 64-bit integer as its upper and its lower half. */
const putWords = (upper: number, lower: number): void => {
  makeRoom(8)
  scratch.writeUInt32BE(upper, length)
  scratch.writeUInt32BE(lower, length + 4)
  length += 8
}

/** Milliseconds; times before 1970 sort first. */
const putTime = (time: number): void => {
  const upper = Math.floor(time / 2 ** 32)
  putWords(upper + 2 ** 31, time - upper * 2 ** 32)
}

const putScalar = (type: number, value: unknown): void => {
  switch (type) {
    case 30: {
      const binary = value as Binary
      makeRoom(5)
      scratch.writeUInt32BE(lengthOf(binary), length)
      scratch[length + 4] = binary.sub_type
      length += 5
      putBytes(binary.value())
      break
    }
    case 35:
      putBytes((value as ObjectId).id)
      break
    case 40:
      putByte(value ? 1 : 0)
      break
    case 45:
      putTime((value as Date).getTime())
      break
    case 47: {
      const { high, low } = value as Timestamp
      putWords(high >>> 0, low >>> 0)
      break
    }
    case 50: {
      const { pattern, options } = value as { pattern: string; options: string }
      putText(pattern)
      putText(options)
      break
    }
    case 60:
      putText(String((value as { code: unknown }).code))
  }
}
