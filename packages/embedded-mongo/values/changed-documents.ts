/** Encodes changed documents: what a change leaves alone keeps its bytes. */
import type { Document } from 'bson'
import { bsonType, documentFields, encode, isIndex, isObject } from './bson-values.ts'
import { fieldsByName } from './raw-documents.ts'

/**
 * Encodes a changed document, its _id first. Values that it shares with the document before keep their bytes and their
 * places. The codec alone would sort numeric names to the front, for example.
 * @param bytes of `before`
 */
export const encodeChanged = (bytes: Buffer, before: Document, after: Document): Buffer => {
  const fields = fieldsByName(bytes)
  return encodeFields(fields, before, after, ['_id', ...orderOf(fields, after)])
}

const encodeFields = (
  fields: ReadonlyMap<string, Buffer>,
  before: Document,
  after: Document,
  names: string[],
): Buffer => {
  const old = documentFields(before)
  const parts: Buffer[] = []
  for (const name of new Set(names)) {
    if (!Object.hasOwn(after, name)) continue
    const field = fields.get(name)
    const value = after[name]
    const isSame = Object.hasOwn(old, name) && old[name] === value
    if (field) parts.push(isSame ? field : encodeField(field, old[name], name, value))
    // The decoder splits a dotted $ref of a DBRef in two.
    else if (!isSame || bsonType(before) !== 'DBRef') parts.push(newField(name, value))
  }
  const length = parts.reduce((sum, part) => sum + part.length, 5)
  const head = Buffer.allocUnsafe(4)
  head.writeInt32LE(length)
  return Buffer.concat([head, ...parts, ZERO], length)
}

const ZERO = Buffer.alloc(1)

/** Objects have numeric names first, in numeric order. */
const orderOf = (fields: ReadonlyMap<string, unknown>, after: Document): string[] => {
  const names = Object.keys(after)
  return names.some(isIndex) ? [...fields.keys(), ...names] : names
}

const encodeField = (field: Buffer, before: unknown, name: string, after: unknown): Buffer => {
  const areDocuments = field[0] === 3 && isObject(before) && isObject(after)
  const areArrays = field[0] === 4 && Array.isArray(before) && Array.isArray(after)
  if (!areDocuments && !areArrays) return newField(name, after)
  const valueAt = field.indexOf(0, 1) + 1
  const inner = fieldsByName(field.subarray(valueAt))
  const value = encodeFields(inner, before, after, orderOf(inner, after))
  return Buffer.concat([field.subarray(0, valueAt), value])
}

const newField = (name: string, value: unknown): Buffer => encode({ [name]: value }).subarray(4, -1)
