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
  const encoded = new EncodedFields()
  for (const name of new Set(names)) {
    if (!Object.hasOwn(after, name)) continue
    const field = fields.get(name)
    const value = after[name]
    const isSame = Object.hasOwn(old, name) && old[name] === value
    if (field && isSame) encoded.copy(field)
    else if (field && areAlike(field, old[name], value)) encoded.copy(encodeInner(field, old[name], value))
    // The decoder splits a dotted $ref of a DBRef in two.
    else if (field || !isSame || bsonType(before) !== 'DBRef') encoded.add(name, value)
  }
  return encoded.finish()
}

/** The fields of one document. New ones that follow each other are encoded together: there may be many. */
class EncodedFields {
  readonly #parts: Buffer[] = [HEAD]
  #added = new Map<string, unknown>()

  copy(field: Buffer): void {
    this.#encodeAdded()
    this.#parts.push(field)
  }

  add(name: string, value: unknown): void {
    this.#added.set(name, value)
  }

  finish(): Buffer {
    this.#encodeAdded()
    const bytes = Buffer.concat([...this.#parts, END])
    bytes.writeInt32LE(bytes.length)
    return bytes
  }

  #encodeAdded(): void {
    if (this.#added.size === 0) return
    // The codec keeps the order of a map.
    this.#parts.push(encode(this.#added).subarray(4, -1))
    this.#added = new Map()
  }
}

const HEAD = Buffer.alloc(4)
const END = Buffer.alloc(1)

/** Objects have numeric names first, in numeric order. */
const orderOf = (fields: ReadonlyMap<string, unknown>, after: Document): string[] => {
  const names = Object.keys(after)
  return names.some(isIndex) ? [...fields.keys(), ...names] : names
}

/** Whether a field was a document and still is one, or an array. */
const areAlike = (field: Buffer, before: unknown, after: unknown): boolean =>
  (field[0] === 3 && isObject(before) && isObject(after)) ||
  (field[0] === 4 && Array.isArray(before) && Array.isArray(after))

const encodeInner = (field: Buffer, before: unknown, after: unknown): Buffer => {
  const valueAt = field.indexOf(0, 1) + 1
  const fields = fieldsByName(field.subarray(valueAt))
  const names = orderOf(fields, after as Document)
  const value = encodeFields(fields, before as Document, after as Document, names)
  return Buffer.concat([field.subarray(0, valueAt), value])
}
