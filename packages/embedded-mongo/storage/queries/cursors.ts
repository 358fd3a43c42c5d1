/** Open cursors: readers that a client comes back to. */
import { randomBytes } from 'node:crypto'
import { Long } from 'bson'
import { fail } from '../../values/errors.ts'

const IDLE_MS = 600_000
const BATCH_BYTES = 16 * 1024 * 1024

interface Cursor {
  ns: string
  /** Encoded documents. */
  documents: Iterator<Buffer>
  /** A document taken that did not fit into the last batch. */
  pending: Buffer | undefined
  /** The session and transaction it belongs to; nobody else may use it. */
  owner: string | undefined
  touched: number
}

export interface Batch {
  id: Long
  ns: string
  documents: Buffer[]
}

export class Cursors {
  readonly #open = new Map<string, Cursor>()

  /** The first batch (size 0: an empty one); the cursor stays open when there may be more, unless `single`. */
  start(ns: string, documents: Iterable<Buffer>, size: number, single: boolean, owner?: string): Batch {
    const cursor: Cursor = {
      ns,
      documents: documents[Symbol.iterator](),
      pending: undefined,
      owner,
      touched: Date.now(),
    }
    const { batch, finished } = size === 0 ? { batch: [], finished: false } : take(cursor, size)
    if (finished || single) return { id: Long.ZERO, ns, documents: batch }
    this.#sweep()
    const id = Long.fromBigInt(randomBytes(8).readBigUInt64BE() >> 1n)
    this.#open.set(id.toString(), cursor)
    return { id, ns, documents: batch }
  }

  /** @throws 43 */
  next(id: Long, ns: string, size: number, owner?: string): Batch {
    const cursor = this.#open.get(id.toString())
    if (!cursor) return fail(43, `cursor id ${id} not found`)
    if (cursor.ns !== ns) fail(13, `getMore on '${ns}', but the cursor belongs to ${cursor.ns}`)
    if (cursor.owner !== owner)
      fail(50738, `Cannot run getMore on cursor ${id}, which was created in another session or transaction`)
    this.#open.delete(id.toString())
    const { batch, finished } = take(cursor, size)
    if (!finished) this.#open.set(id.toString(), cursor)
    return { id: finished ? Long.ZERO : id, ns, documents: batch }
  }

  kill(id: Long): boolean {
    return this.#open.delete(id.toString())
  }

  killOwned(owner: string): void {
    for (const [id, cursor] of this.#open) if (cursor.owner === owner) this.#open.delete(id)
  }

  get size(): number {
    return this.#open.size
  }

  #sweep(): void {
    const oldest = Date.now() - IDLE_MS
    for (const [id, { touched }] of this.#open) if (touched < oldest) this.#open.delete(id)
  }
}

/** Up to `size` documents (0: as many as fit), never more than a message holds. */
const take = (cursor: Cursor, size: number): { batch: Buffer[]; finished: boolean } => {
  cursor.touched = Date.now()
  const batch: Buffer[] = []
  let bytes = 0
  while (size === 0 || batch.length < size) {
    const next = cursor.pending ?? cursor.documents.next().value
    cursor.pending = undefined
    if (!next) return { batch, finished: true }
    bytes += next.length
    if (batch.length > 0 && bytes > BATCH_BYTES) {
      cursor.pending = next
      return { batch, finished: false }
    }
    batch.push(next)
  }
  return { batch, finished: false }
}
