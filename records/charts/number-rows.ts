/**
 * Reads rows of numbers directly from the BSON of a database reply (https://bsonspec.org), without creating
 * objects.
 */

/** The BSON types that can occur here. */
const DOUBLE = 1
const TEXT = 2
const DOCUMENT = 3
const ARRAY = 4
const BOOLEAN = 8
const DATE = 9
const NULL = 10
const INT32 = 16
const TIMESTAMP = 17
const INT64 = 18

/** The first column name in a reply; names have one letter, since they are repeated in each row. */
const FIRST_COLUMN_NAME = 'a'.charCodeAt(0)

/** The numbers of some fields, by column; dates as milliseconds since 1970, NaN for a missing value. */
export class NumberRows {
  /** The projection to request from the database. */
  readonly projection: Readonly<Record<string, unknown>>
  #columns: Float64Array[]
  #length = 0
  #bytes: Uint8Array = new Uint8Array()
  #view = new DataView(this.#bytes.buffer)

  /** @param fields stored fields; `anxiety.score` is one inside an object */
  constructor(fields: readonly string[]) {
    const entries = fields.map((field, i) => [String.fromCharCode(FIRST_COLUMN_NAME + i), `$${field}`])
    this.projection = { _id: 0, ...Object.fromEntries(entries) }
    this.#columns = fields.map(() => new Float64Array(1024))
  }

  get columns(): Float64Array[] {
    return this.#columns.map((column) => column.subarray(0, this.#length))
  }

  /** @param cursor the cursor of a reply, with its batch of documents */
  add(cursor: Uint8Array): void {
    this.#open(cursor)
    for (const { type, at } of this.#elements(0)) if (type === ARRAY) this.#addRows(at)
  }

  #open(cursor: Uint8Array): void {
    this.#bytes = cursor
    this.#view = new DataView(cursor.buffer, cursor.byteOffset, cursor.byteLength)
  }

  #addRows(array: number): void {
    const bytes = this.#bytes
    const view = this.#view
    const end = array + view.getInt32(array, true) - 1
    for (let at = array + 4; at < end; ) {
      // Skips the type and the array index of the element.
      do at++
      while (bytes[at] !== 0)
      at++
      this.#addRow(at)
      at += view.getInt32(at, true)
    }
  }

  #addRow(document: number): void {
    if (this.#length === this.#columns[0]?.length) this.#grow()
    const bytes = this.#bytes
    const view = this.#view
    const columns = this.#columns
    const row = this.#length++
    for (const column of columns) column[row] = Number.NaN
    for (let at = document + 4; bytes[at] !== 0; ) {
      const type = bytes[at] as number
      const column = columns[(bytes[at + 1] as number) - FIRST_COLUMN_NAME] as Float64Array
      // Skips the type, the one-letter name and its terminator.
      at += 3
      column[row] = readNumberAt(view, type, at)
      at += bsonSizeAt(view, type, at)
    }
  }

  #grow(): void {
    this.#columns = this.#columns.map((column) => {
      const larger = new Float64Array(column.length * 4)
      larger.set(column)
      return larger
    })
  }

  /** The elements of a document: type, and offset of the value. */
  *#elements(document: number): Iterable<{ type: number; at: number }> {
    for (let at = document + 4; this.#bytes[at] !== 0; ) {
      const type = this.#bytes[at++] as number
      while (this.#bytes[at] !== 0) at++
      at++
      yield { type, at }
      at += bsonSizeAt(this.#view, type, at)
    }
  }
}

/** @throws TypeError for a BSON type that our projections never request */
function bsonSizeAt(view: DataView, type: number, at: number): number {
  switch (type) {
    case INT32:
      return 4
    case DOUBLE:
    case DATE:
    case INT64:
    case TIMESTAMP:
      return 8
    case DOCUMENT:
    case ARRAY:
      return view.getInt32(at, true)
    case TEXT:
      return 4 + view.getInt32(at, true)
    case BOOLEAN:
      return 1
    case NULL:
      return 0
    default:
      throw new TypeError(`The database returned a BSON value of the unexpected type ${type}.`)
  }
}

function readNumberAt(view: DataView, type: number, at: number): number {
  if (type === INT32) return view.getInt32(at, true)
  if (type === DOUBLE) return view.getFloat64(at, true)
  if (type === DATE || type === INT64) return view.getUint32(at, true) + view.getInt32(at + 4, true) * 2 ** 32
  return Number.NaN
}
