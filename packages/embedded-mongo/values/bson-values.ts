/**
 * BSON values as the engine holds them: exact types (Int32, Double, Long, …), dates as Date, documents as
 * plain objects.
 */
import {
  type Decimal128,
  type Document,
  type Double,
  deserialize,
  type Int32,
  type Long,
  serialize,
} from 'bson'
import { fail } from './errors.ts'

/** Decodes with exact types, so that encoding the document again changes nothing. */
export const decode = (bytes: Uint8Array): Document =>
  deserialize(bytes, { promoteValues: false, promoteLongs: false, bsonRegExp: true })

/** In bytes. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024

export const encode = (document: Document): Buffer => {
  const bytes = serializeDocument(document)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const serializeDocument = (document: Document): Uint8Array => {
  try {
    return serialize(document, { ignoreUndefined: true })
  } catch (error) {
    // The buffer is a little larger than the largest document.
    if ((error as { code?: unknown }).code === 'ERR_OUT_OF_RANGE') return tooLarge('too many bytes')
    throw error
  }
}

const tooLarge = (size: number | string): never =>
  fail(10334, `BSONObj size: ${size} is invalid. Size must be between 0 and ${MAX_DOCUMENT_BYTES}`)

/** @throws 10334 above the size limit. @param extraBytes the bytes that the server itself may add */
export const checkSize = (bytes: Buffer, extraBytes = 0): Buffer =>
  bytes.length > MAX_DOCUMENT_BYTES + extraBytes ? tooLarge(bytes.length) : bytes

/** The BSON class of a value (`Int32`, `ObjectId`, …); undefined for JavaScript's own types. */
export const bsonType = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? (value as { _bsontype?: string })._bsontype : undefined

export const isNumeric = (value: unknown): boolean => {
  if (typeof value === 'number' || typeof value === 'bigint') return true
  const type = bsonType(value)
  return type === 'Int32' || type === 'Double' || type === 'Long' || type === 'Decimal128'
}

/** A numeric BSON value as a double; large longs and decimals are rounded. */
export const toNumber = (value: unknown): number => {
  if (typeof value === 'number') return value
  switch (bsonType(value)) {
    case 'Int32':
      return (value as Int32).value
    case 'Double':
      return (value as Double).value
    case 'Long':
      return (value as Long).toNumber()
    case 'Decimal128':
      return Number((value as Decimal128).toString())
    default:
      return Number(value)
  }
}

export const isObject = (value: unknown): value is Document => {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date)
    return false
  const type = bsonType(value)
  return type === undefined || type === 'DBRef'
}

/** The codec decodes a DBRef as a class. Returns the fields of its original document. */
export const documentFields = (value: Document): Document =>
  bsonType(value) === 'DBRef' ? (value as { toJSON(): Document }).toJSON() : value

export const isNullish = (value: unknown): boolean => value === null || value === undefined

export const getMember = (value: unknown, key: string): unknown => {
  if (!isObject(value)) return undefined
  const document = documentFields(value)
  return Object.hasOwn(document, key) ? document[key] : undefined
}

/** Sets a key as an own property, even `__proto__`. */
export const setMember = (target: Document, key: string, value: unknown): void => {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

/** The top-level field of a path with dots. */
export const rootFieldOf = (path: string): string => path.split('.', 1)[0] as string

/**
 * All values at the end of a path; undefined once for each document that lacks the field. An array along the
 * path yields each of its documents and, for a numeric part, the element there. An array at the end stays
 * whole.
 */
export const valuesAtPath = (
  value: unknown,
  parts: readonly string[],
  at = 0,
  values: unknown[] = [],
): unknown[] => {
  if (at === parts.length) {
    values.push(value)
    return values
  }
  const part = parts[at] as string
  if (Array.isArray(value)) {
    if (isIndex(part) && Number(part) < value.length) valuesAtPath(value[Number(part)], parts, at + 1, values)
    for (const element of value) if (isObject(element)) valuesAtPath(element, parts, at, values)
  } else if (isObject(value)) valuesAtPath(getMember(value, part), parts, at + 1, values)
  else values.push(undefined)
  return values
}

export const isIndex = (part: string): boolean => /^(0|[1-9]\d{0,8})$/.test(part)

export const clone = <T>(value: T): T => {
  if (Array.isArray(value)) return value.map(clone) as T
  if (!isObject(value)) return value
  const copy: Document = {}
  const source = documentFields(value)
  for (const key of Object.keys(source)) setMember(copy, key, clone(source[key]))
  return copy as T
}

export const isTruthy = (value: unknown): boolean =>
  isNumeric(value) ? toNumber(value) !== 0 || isTiny(value) : Boolean(value)

/** A decimal other than zero whose nearest double is zero. */
const isTiny = (value: unknown): boolean =>
  bsonType(value) === 'Decimal128' && /^-?[0.]*[1-9]/.test(String(value))

/** The maximum nesting of stored documents, the outermost included. Messages may be 20 levels deeper. */
export const MAX_STORED_DEPTH = 180

/**
 * @param emptyBelow whether an empty document or array may lie below the deepest level, as after an update
 */
export const isTooDeep = (value: unknown, emptyBelow: boolean, left = MAX_STORED_DEPTH): boolean => {
  if (!Array.isArray(value) && !isObject(value)) return false
  const members: Document = Array.isArray(value) ? value : documentFields(value)
  if (left === 0) return !emptyBelow || Object.keys(members).length > 0
  for (const name in members) if (isTooDeep(members[name], emptyBelow, left - 1)) return true
  return false
}
