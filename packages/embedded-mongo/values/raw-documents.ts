/** Builds BSON from encoded parts, and checks encoded BSON. */
import { fail } from './errors.ts'

/** A document up to the bytes of its last field's value, which the caller appends. */
export const withoutEnd = (document: Buffer, type: 3 | 4, name: string): Buffer =>
  Buffer.concat([document.subarray(0, -1), Buffer.from(`${String.fromCharCode(type)}${name}\0`)])

/** Encoded documents, one after the other; each begins with its length. */
export type Run = Buffer

/** The end of the first documents of a run: at most `most` documents and `bytes` bytes. */
export const headOf = (run: Run, most = run.length, bytes = run.length): { count: number; end: number } => {
  let count = 0
  let end = 0
  while (end < run.length && count < most) {
    const next = end + run.readInt32LE(end)
    if (next > bytes) break
    count++
    end = next
  }
  return { count, end }
}

const NO_BYTES = Buffer.alloc(0)

export const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, length)

/** From this length on, a copy call is faster than a loop. */
const MIN_COPY_CALL_BYTES = 64
const ZERO = 0x30
const NINE = 0x39

/** A BSON array that grows by encoded documents. */
export class DocumentArray {
  count = 0
  readonly #capacity: number
  #bytes: Buffer = NO_BYTES
  #target = viewOf(NO_BYTES)
  #to = FRONT_BYTES + 4
  readonly #digits = [ZERO]

  /** @param capacity the expected size in bytes */
  constructor(capacity = 0) {
    this.#capacity = capacity
  }

  /** The size in bytes, including the reserved bytes before and after the array. */
  get size(): number {
    return this.#to + MAX_HEAD_FIELDS
  }

  append(run: Run): void {
    const source = viewOf(run)
    for (let at = 0; at < run.length; ) {
      const end = at + source.getInt32(at, true)
      this.#makeRoom(MAX_HEAD_FIELDS + end - at, run.length)
      this.#putHead()
      this.#put(run, source, at, end)
      at = end
    }
  }

  /** Writes the type and the number of the next document. */
  #putHead(): void {
    const bytes = this.#bytes
    const digits = this.#digits
    let to = this.#to
    bytes[to++] = 3
    for (let i = digits.length - 1; i >= 0; i--) bytes[to++] = digits[i] as number
    bytes[to++] = 0
    increment(digits)
    this.count++
    this.#to = to
  }

  #put(run: Run, source: DataView, from: number, end: number): void {
    const bytes = this.#bytes
    const target = this.#target
    let at = from
    let to = this.#to
    if (end - at > MIN_COPY_CALL_BYTES) to += run.copy(bytes, to, at, end)
    else {
      for (; at + 4 <= end; at += 4, to += 4) target.setInt32(to, source.getInt32(at))
      while (at < end) bytes[to++] = run[at++] as number
    }
    this.#to = to
  }

  /**
   * Completes the array.
   * @param before bytes to put before the array in the same buffer
   * @param behind the number of zero bytes after the array
   */
  within(before: Buffer, behind = 0): Buffer {
    this.#makeRoom(1 + behind)
    const bytes = this.#bytes
    const to = this.#to
    bytes.fill(0, to, to + 1 + behind)
    bytes.writeInt32LE(to + 1 - FRONT_BYTES, FRONT_BYTES)
    if (before.length > FRONT_BYTES)
      return Buffer.concat([before, bytes.subarray(FRONT_BYTES, to + 1 + behind)])
    before.copy(bytes, FRONT_BYTES - before.length)
    return bytes.subarray(FRONT_BYTES - before.length, to + 1 + behind)
  }

  #makeRoom(size: number, expected = size): void {
    if (this.#bytes.length - this.#to >= size) return
    const larger = allocate(Math.max(this.#capacity, 2 * this.#to + Math.max(size, expected)))
    this.#bytes.copy(larger, 0, 0, this.#to)
    releaseBuffer(this.#bytes)
    this.#bytes = larger
    this.#target = viewOf(larger)
  }
}

/** Usually enough for the bytes before an array. */
const FRONT_BYTES = 400
/** Bytes before each document in an array: its type, its number, and the number's end. */
const MAX_HEAD_FIELDS = 12

/**
 * Buffers are reused, the smallest first. The garbage collector would otherwise look at the whole heap whenever their
 * bytes amount to some megabytes.
 */
const spares: Buffer[] = []
/** The memory of these buffers. Other buffers may share theirs: those of Node's pool are slices of one. */
const ownMemory = new WeakSet<ArrayBufferLike>()
const MIN_SPARE_BYTES = 2 ** 16
const MAX_SPARE_BYTES = 2 ** 21
const MAX_SPARES = 8

const allocate = (size: number): Buffer => {
  const at = spares.findIndex(({ length }) => length >= size)
  const [spare] = at < 0 ? [] : spares.splice(at, 1)
  if (spare) return spare
  const bytes = Buffer.allocUnsafeSlow(Math.max(size, MIN_SPARE_BYTES))
  ownMemory.add(bytes.buffer)
  return bytes
}

/** Returns a buffer of a `DocumentArray` for reuse; ignores others. Nobody may read it, or a part of it, any more. */
export const releaseBuffer = ({ buffer }: Buffer): void => {
  if (!ownMemory.has(buffer) || buffer.byteLength > MAX_SPARE_BYTES) return
  spares.push(Buffer.from(buffer))
  spares.sort((a, b) => a.length - b.length)
  if (spares.length > MAX_SPARES) spares.shift()
}

/** Increments a number whose last digit comes first: counting is faster than dividing each time. */
const increment = (digits: number[]): void => {
  let at = 0
  while (digits[at] === NINE) digits[at++] = ZERO
  digits[at] = (digits[at] ?? ZERO) + 1
}

/** Fields of another document, possibly none, that take the place of a field. */
export interface Replacement {
  name: Buffer
  fields: Buffer
}

/** Stands for the replacement among the ranges of kept fields. */
const REPLACED = -1

/**
 * A document with only these fields, or without them. It finds the fields without decoding the others.
 * @param replacement takes the place of a field that is kept
 */
export const keepFields = (
  document: Buffer,
  names: readonly Buffer[],
  without = false,
  replacement?: Replacement,
): Buffer => {
  const newFields = replacement?.fields.subarray(4, -1) ?? NO_BYTES
  // The start and end of each range of kept fields.
  const ranges: number[] = []
  let length = 5
  for (let at = 4; document[at] !== 0; ) {
    const start = at
    const nameEnd = endOfName(document, start + 1)
    at = nameEnd + 1 + sizeOf(document, document[start] as number, nameEnd + 1)
    if (isOneOf(document, start + 1, nameEnd, names) === without) continue
    if (replacement && isAt(document, start + 1, nameEnd, replacement.name)) {
      ranges.push(REPLACED, REPLACED)
      length += newFields.length
      continue
    }
    if (ranges.at(-1) === start) ranges.pop()
    else ranges.push(start)
    ranges.push(at)
    length += at - start
  }
  const bytes = Buffer.allocUnsafe(length)
  bytes.writeInt32LE(length)
  let to = 4
  for (let i = 0; i < ranges.length; i += 2)
    to +=
      ranges[i] === REPLACED ? newFields.copy(bytes, to) : document.copy(bytes, to, ranges[i], ranges[i + 1])
  bytes[to] = 0
  return bytes
}

/** The bytes of a field that is a document; undefined if there is none of this name. */
export const rawDocumentField = (document: Buffer, name: Buffer): Buffer | undefined => {
  for (let at = 4; document[at] !== 0; ) {
    const type = document[at] as number
    const nameEnd = endOfName(document, at + 1)
    const end = nameEnd + 1 + sizeOf(document, type, nameEnd + 1)
    if (type === 3 && isAt(document, at + 1, nameEnd, name)) return document.subarray(nameEnd + 1, end)
    at = end
  }
  return undefined
}

/** The names of the fields whose bytes differ between two documents. */
export const changedFields = (before: Buffer, after: Buffer): Set<string> => {
  const changed = fieldsByName(before)
  for (const [name, field] of fieldsByName(after))
    if (changed.get(name)?.equals(field)) changed.delete(name)
    else changed.set(name, field)
  return new Set(changed.keys())
}

/** The bytes of each field, from its type to the end of its value. */
export const fieldsByName = (document: Buffer): Map<string, Buffer> => {
  const fields = new Map<string, Buffer>()
  for (let at = 4; document[at] !== 0; ) {
    const start = at
    const nameEnd = endOfName(document, start + 1)
    at = nameEnd + 1 + sizeOf(document, document[start] as number, nameEnd + 1)
    fields.set(document.toString('utf8', start + 1, nameEnd), document.subarray(start, at))
  }
  return fields
}

/** Names are short: a loop is faster than a search call. */
const endOfName = (bytes: Buffer, start: number): number => {
  let at = start
  while (at < bytes.length && bytes[at] !== 0) at++
  return at
}

const isOneOf = (bytes: Buffer, start: number, end: number, names: readonly Buffer[]): boolean => {
  for (const name of names) if (isAt(bytes, start, end, name)) return true
  return false
}

const isAt = (bytes: Buffer, start: number, end: number, name: Buffer): boolean => {
  if (end - start !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false
  return true
}

/** The value sizes of the types. Types not listed here store their length. */
const SIZES: (number | undefined)[] = Array.from({ length: 256 })
for (const type of [0x01, 0x09, 0x11, 0x12]) SIZES[type] = 8
for (const type of [0x06, 0x0a, 0x7f, 0xff]) SIZES[type] = 0
SIZES[0x07] = 12
SIZES[0x08] = 1
SIZES[0x10] = 4
SIZES[0x13] = 16

const sizeOf = (bytes: Buffer, type: number, at: number): number => {
  const fixedSize = SIZES[type]
  if (fixedSize !== undefined) return fixedSize
  switch (type) {
    case 0x0b:
      return bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1 - at
    case 0x05:
      return bytes.readInt32LE(at) + 5
    case 0x0c:
      return bytes.readInt32LE(at) + 16
    case 0x02:
    case 0x0d:
    case 0x0e:
      return bytes.readInt32LE(at) + 4
    default:
      return bytes.readInt32LE(at)
  }
}

/** The maximum nesting; documents within a command are counted from their own top. */
const MAX_DEPTH = 200

/**
 * Checks for faults that decoding would not reveal.
 * @param except a top-level field to skip
 * @throws 40413, 7472500 for a duplicate field
 * @throws 115 for a value of BSON's deprecated types `undefined` and DBPointer, which the codec cannot write back
 * @throws 15 for a document nested too deeply
 */
export const checkFields = (document: Buffer, except = ''): void => checkLevel(document, 0, 0, '$', except)

const checkLevel = (bytes: Buffer, from: number, depth: number, within: string, except = ''): void => {
  if (depth > MAX_DEPTH) fail(15, 'Document exceeded maximum nested object depth: 200')
  const names = within === '' ? undefined : new Names(bytes)
  for (let at = from + 4; bytes[at] !== 0; ) {
    const type = bytes[at] as number
    const start = at + 1
    const end = endOfName(bytes, start)
    const deprecatedType = DEPRECATED_TYPES[type]
    if (deprecatedType) fail(115, `values of the type ${deprecatedType} are not supported by this engine`)
    if (names?.add(start, end) === false) {
      const name = bytes.toString('utf8', start, end)
      fail(within === '$sort' ? 7472500 : 40413, `BSON field '${name}' is a duplicate field`)
    }
    if (type === 3 || type === 4) {
      const name = bytes.toString('utf8', start, end)
      if (depth > 0 || name !== except) checkLevel(bytes, end + 1, depth + 1, type === 4 ? '' : name || '$')
    }
    at = end + 1 + sizeOf(bytes, type, end + 1)
  }
}

const DEPRECATED_TYPES: Readonly<Record<number, string>> = { 6: 'undefined', 12: 'DBPointer' }

/** The field names of a document so far. A few are compared directly, many are hashed. */
class Names {
  readonly #bytes: Buffer
  readonly #ends: number[] = []
  #many: Set<string> | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Returns false if the name was there already. */
  add(start: number, end: number): boolean {
    if (this.#many) {
      const before = this.#many.size
      return this.#many.add(this.#bytes.toString('latin1', start, end)).size > before
    }
    const ends = this.#ends
    for (let i = 0; i < ends.length; i += 2)
      if (isSame(this.#bytes, ends[i] as number, ends[i + 1] as number, start, end)) return false
    ends.push(start, end)
    if (ends.length > 2 * FEW)
      this.#many = new Set(
        ends.flatMap((at, i) => (i % 2 ? [] : this.#bytes.toString('latin1', at, ends[i + 1]))),
      )
    return true
  }
}

const FEW = 24

const isSame = (bytes: Buffer, from: number, to: number, start: number, end: number): boolean => {
  if (to - from !== end - start) return false
  for (let i = end - start - 1; i >= 0; i--) if (bytes[from + i] !== bytes[start + i]) return false
  return true
}
