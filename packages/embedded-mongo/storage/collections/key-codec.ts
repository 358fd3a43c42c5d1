/** Index keys: bytes whose order is the order of BSON values. Only key-reader.ts knows, too, how they look. */
import { createHash } from 'node:crypto'
import type { Binary, Document, ObjectId, Timestamp } from 'bson'
import { type Collation, numberParts, typeOrder } from '../../values/compare.ts'
import { fields } from '../../values/values.ts'

/** lmdb allows 1978 bytes for a key; the space, a record id and the hash of a long key take the rest. */
const LONGEST = 1900
const KEPT = LONGEST - 20

export interface EncodedKey {
  bytes: Buffer
  /** Beyond LONGEST: cut and hashed, so equal keys stay equal but the order among them is lost. */
  cut: boolean
}

/** Encodes the values of one index entry; `descending[i]` turns a component's order round. */
export const encodeKey = (
  values: readonly unknown[],
  descending: readonly boolean[],
  collation?: Collation,
): EncodedKey => {
  const bytes = components(values, descending, collation)
  if (bytes.length <= LONGEST) return { bytes, cut: false }
  const hash = createHash('sha1').update(bytes).digest()
  return { bytes: Buffer.concat([bytes.subarray(0, KEPT), hash]), cut: true }
}

const components = (
  values: readonly unknown[],
  descending: readonly boolean[],
  collation?: Collation,
): Buffer => {
  const parts = values.map((value, i) => {
    const bytes = component(value, collation)
    return descending[i] ? inverted(bytes) : bytes
  })
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
}

const inverted = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => ~byte))

/** One end of a range of keys; a bound longer than keys may be is cut, and then covers all that share the cut. */
export const encodeBound = (
  values: readonly unknown[],
  descending: readonly boolean[],
  collation?: Collation,
): Buffer => components(values, descending, collation).subarray(0, KEPT)

/** The bytes that every text beginning with `prefix` has first. */
export const textPrefix = (prefix: string, descending: boolean): Buffer => {
  const whole = component(prefix)
  const bytes = whole.subarray(0, whole.length - 2)
  return (descending ? inverted(bytes) : bytes).subarray(0, KEPT)
}

/** The smallest bytes above everything that starts with `prefix`. */
export const after = (prefix: Buffer): Buffer => {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === 0xff) end--
  const bytes = Buffer.from(prefix.subarray(0, end))
  if (end > 0) bytes[end - 1] = (bytes[end - 1] as number) + 1
  return bytes
}

/** The first byte of every key of a value's type: all of its keys lie from here to `after` it. */
export const typePrefix = (value: unknown, descending: boolean): Buffer => {
  const type = typeOrder(value)
  return Buffer.of(descending ? ~type : type)
}

const component = (value: unknown, collation?: Collation): Buffer => {
  const out: Buffer[] = []
  append(out, value, collation)
  return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out)
}

const append = (out: Buffer[], value: unknown, collation?: Collation): void => {
  const type = typeOrder(value)
  switch (type) {
    case 10:
      out.push(numberBytes(value))
      break
    case 15:
      out.push(Buffer.of(type), textBytes(collation ? collation.fold(String(value)) : String(value)))
      break
    case 20:
      appendDocument(out, value as Document, collation)
      break
    case 25:
      out.push(Buffer.of(type))
      for (const element of value as unknown[]) append(out, element, collation)
      out.push(Buffer.of(0))
      break
    default:
      out.push(Buffer.of(type), scalarBytes(type, value))
  }
}

const appendDocument = (out: Buffer[], value: Document, collation?: Collation): void => {
  out.push(Buffer.of(20))
  for (const [name, inner] of Object.entries(fields(value))) {
    out.push(Buffer.of(typeOrder(inner)), textBytes(name))
    append(out, inner, collation)
  }
  out.push(Buffer.of(0))
}

/** Type, the double with its sign bit arranged for byte order, then what the double leaves over. */
const numberBytes = (value: unknown): Buffer => {
  const [near, rest] = numberParts(value)
  const bytes = Buffer.allocUnsafe(rest === 0 ? 10 : 18)
  bytes[0] = 10
  writeDouble(bytes, near, 1)
  bytes[9] = rest === 0 ? 2 : rest < 0 ? 1 : 3
  if (rest !== 0) writeDouble(bytes, rest, 10)
  return bytes
}

const writeDouble = (bytes: Buffer, value: number, at: number): void => {
  if (Number.isNaN(value)) {
    bytes.fill(0, at, at + 8)
    return
  }
  bytes.writeDoubleBE(value === 0 ? 0 : value, at)
  if (value < 0) for (let i = at; i < at + 8; i++) bytes[i] = ~(bytes[i] as number)
  else bytes[at] = (bytes[at] as number) | 0x80
}

/** Text ended by two zero bytes; a zero inside is escaped, so no text is the start of another's bytes. */
const textBytes = (text: string): Buffer => {
  if (!text.includes('\0')) return Buffer.from(`${text}\0\0`)
  const parts = text.split('\0').map((part) => Buffer.from(part))
  const out: Buffer[] = []
  parts.forEach((part, i) => {
    if (i > 0) out.push(Buffer.of(0, 0xff))
    out.push(part)
  })
  return Buffer.concat([...out, Buffer.of(0, 0)])
}

const unsigned64 = (value: bigint): Buffer => {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

const scalarBytes = (type: number, value: unknown): Buffer => {
  switch (type) {
    case 30: {
      const binary = value as Binary
      const head = Buffer.allocUnsafe(5)
      head.writeUInt32BE(binary.length())
      head[4] = binary.sub_type
      return Buffer.concat([head, binary.value()])
    }
    case 35:
      return Buffer.from((value as ObjectId).id)
    case 40:
      return Buffer.of(value ? 1 : 0)
    case 45:
      return unsigned64(BigInt((value as Date).getTime()) + (1n << 63n))
    case 47:
      return unsigned64((value as Timestamp).toBigInt())
    case 50: {
      const { pattern, options } = value as { pattern: string; options: string }
      return Buffer.concat([textBytes(pattern), textBytes(options)])
    }
    case 60:
      return textBytes(String((value as { code: unknown }).code))
    default:
      return Buffer.alloc(0)
  }
}
