/** Rows of numbers out of the bytes of a database's answer, https://bsonspec.org: no object is made of them. */

/** The types of BSON that are met here. */
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

const nameOf = (name: string): Uint8Array => Buffer.from(name)

const ID = nameOf('id')

/** The numbers of some fields, column by column; dates as milliseconds since 1970, NaN where there is none. */
export class RawRows {
  readonly #paths: Uint8Array[][]
  #columns: Float64Array[]
  #length = 0
  #bytes: Uint8Array = new Uint8Array()
  #view = new DataView(this.#bytes.buffer)

  /** @param fields `anxiety.score` is one inside an object */
  constructor(fields: readonly string[]) {
    this.#paths = fields.map((field) => field.split('.').map(nameOf))
    this.#columns = fields.map(() => new Float64Array(1024))
  }

  get columns(): Float64Array[] {
    return this.#columns.map((column) => column.slice(0, this.#length))
  }

  /** @param cursor of an answer, with its batch of documents */
  add(cursor: Uint8Array): void {
    this.#open(cursor)
    this.#each(0, (type, _, at) => {
      if (type === ARRAY) this.#each(at, (__, ___, document) => this.#row(document))
    })
  }

  /** Where an answer's cursor goes on; 0n when there is nothing more. */
  next(cursor: Uint8Array): bigint {
    this.#open(cursor)
    let id = 0n
    this.#each(0, (type, name, at) => {
      if (type === INT64 && this.#isNamed(name, ID)) id = this.#view.getBigInt64(at, true)
    })
    return id
  }

  #open(cursor: Uint8Array): void {
    this.#bytes = cursor
    this.#view = new DataView(cursor.buffer, cursor.byteOffset, cursor.byteLength)
  }

  #row(at: number): void {
    if (this.#length === this.#columns[0]?.length) this.#grow()
    for (const column of this.#columns) column[this.#length] = Number.NaN
    this.#read(at, this.#paths, 0)
    this.#length += 1
  }

  /** @param depth how many names of the paths have been followed */
  #read(document: number, paths: readonly (Uint8Array[] | undefined)[], depth: number): void {
    this.#each(document, (type, name, at) => {
      for (let i = 0; i < paths.length; i++) {
        const path = paths[i]
        const part = path?.[depth]
        if (!part || !this.#isNamed(name, part)) continue
        if (path.length === depth + 1)
          (this.#columns[i] as Float64Array)[this.#length] = this.#number(type, at)
        else if (type === DOCUMENT)
          this.#read(
            at,
            paths.map((one, other) => (other === i ? one : undefined)),
            depth + 1,
          )
      }
    })
  }

  /** Visits the elements of a document or an array. */
  #each(document: number, visit: (type: number, name: number, at: number) => void): void {
    const end = document + this.#view.getInt32(document, true) - 1
    for (let at = document + 4; at < end; ) {
      const type = this.#bytes[at++] as number
      const name = at
      while (this.#bytes[at] !== 0) at++
      at++
      visit(type, name, at)
      at += this.#size(type, at)
    }
  }

  /** @throws TypeError for what no projection of ours has asked for */
  #size(type: number, at: number): number {
    if (type === DOUBLE || type === DATE || type === INT64) return 8
    if (type === INT32) return 4
    if (type === DOCUMENT || type === ARRAY) return this.#view.getInt32(at, true)
    if (type === TEXT) return 4 + this.#view.getInt32(at, true)
    if (type === BOOLEAN) return 1
    if (type === NULL) return 0
    if (type === TIMESTAMP) return 8
    throw new TypeError(`The database answered with BSON of type ${type}.`)
  }

  #number(type: number, at: number): number {
    if (type === DOUBLE) return this.#view.getFloat64(at, true)
    if (type === INT32) return this.#view.getInt32(at, true)
    if (type === DATE || type === INT64)
      return this.#view.getUint32(at, true) + this.#view.getInt32(at + 4, true) * 2 ** 32
    return Number.NaN
  }

  #isNamed(at: number, name: Uint8Array): boolean {
    if (this.#bytes[at + name.length] !== 0) return false
    for (let i = 0; i < name.length; i++) if (this.#bytes[at + i] !== name[i]) return false
    return true
  }

  #grow(): void {
    this.#columns = this.#columns.map((column) => {
      const larger = new Float64Array(column.length * 4)
      larger.set(column)
      return larger
    })
  }
}
