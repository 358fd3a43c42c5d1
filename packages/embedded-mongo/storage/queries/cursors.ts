/** Open cursors: readers from which a client fetches further batches. */
import { randomBytes } from 'node:crypto'
import { Long } from 'bson'
import { MAX_DOCUMENT_BYTES } from '../../values/bson-values.ts'
import { fail } from '../../values/errors.ts'
import { DocumentArray, headOf, type Run } from '../../values/raw-documents.ts'
import { type CommandTimer, PAUSE, type Step } from '../../values/steps.ts'

const CURSOR_IDLE_MS = 600_000

export interface CursorSource {
  ns: string
  documents: Iterable<Step<Run>>
  /** The timer of the command. Its time passes only while a batch is made. */
  timer: CommandTimer
  /** The session and transaction that own the cursor; no other may use it. */
  owner?: string | undefined
  /** Whether the collection that it reads has been dropped. */
  isDropped?: (() => boolean) | undefined
}

interface Cursor extends Omit<CursorSource, 'documents'> {
  documents: Iterator<Step<Run>>
  /** Documents that were read but did not fit into the last batch. */
  pending: Run | undefined
  /** The remaining time in milliseconds. */
  left: number
  /** The size of its last batch in bytes. */
  size: number
  usedAt: number
  /** A batch is being made. */
  isBusy: boolean
}

export interface Batch {
  id: Long
  ns: string
  documents: DocumentArray
}

export class Cursors {
  readonly #open = new Map<string, Cursor>()

  /** The first batch (size 0: an empty one). The cursor stays open if there may be more, unless `single`. */
  async start(source: CursorSource, size: number, single = false): Promise<Batch> {
    const cursor: Cursor = {
      ...source,
      documents: source.documents[Symbol.iterator](),
      pending: undefined,
      left: source.timer.remainingMs,
      size: 0,
      usedAt: Date.now(),
      isBusy: false,
    }
    const { finished, ...batch } =
      size === 0 ? { documents: new DocumentArray(), finished: false } : await takeBatch(cursor, size)
    if (finished || single) return { id: Long.ZERO, ns: cursor.ns, ...batch }
    this.#sweep()
    const id = Long.fromBigInt(randomBytes(8).readBigUInt64BE() >> 1n)
    this.#open.set(id.toString(), cursor)
    return { id, ns: cursor.ns, ...batch }
  }

  /** @throws 43, 175 if its collection was dropped, 237 if it is killed meanwhile */
  async next(id: Long, ns: string, size: number, owner?: string): Promise<Batch> {
    const cursor = this.#open.get(id.toString())
    if (!cursor) return fail(43, `cursor id ${id} not found`)
    if (cursor.ns !== ns) fail(13, `getMore on '${ns}', but the cursor belongs to ${cursor.ns}`)
    if (cursor.owner !== owner)
      fail(50738, `Cannot run getMore on cursor ${id}, which was created in another session or transaction`)
    if (cursor.isBusy) fail(12051, `cursor id ${id} is already in use`)
    cursor.isBusy = true
    let isOver = true
    try {
      if (cursor.isDropped?.()) fail(175, `collection dropped. UUID of ${ns} has changed`)
      cursor.timer.resume(cursor.left)
      const { finished, ...batch } = await takeBatch(cursor, size)
      if (!this.#open.has(id.toString())) fail(237, `cursor id ${id} was killed`)
      isOver = finished
      return { id: finished ? Long.ZERO : id, ns, ...batch }
    } finally {
      cursor.isBusy = false
      if (isOver) this.#open.delete(id.toString())
    }
  }

  kill(id: Long): boolean {
    return this.#open.delete(id.toString())
  }

  /** Kills the cursors of a session or of one of its transactions; without an owner, all. */
  killOwned(owner?: string): void {
    for (const [id, cursor] of this.#open)
      if (
        cursor.owner &&
        (owner === undefined || cursor.owner === owner || cursor.owner.startsWith(`${owner}/`))
      )
        this.#open.delete(id)
  }

  get size(): number {
    return this.#open.size
  }

  #sweep(): void {
    const oldest = Date.now() - CURSOR_IDLE_MS
    for (const [id, { usedAt }] of this.#open) if (usedAt < oldest) this.#open.delete(id)
  }
}

/** Up to `size` documents (0: as many as fit), never more than a message holds. */
const takeBatch = async (
  cursor: Cursor,
  size: number,
): Promise<Pick<Batch, 'documents'> & { finished: boolean }> => {
  const documents = new DocumentArray(cursor.size)
  let bytes = 0
  const stop = (finished: boolean) => {
    cursor.usedAt = Date.now()
    cursor.left = cursor.timer.remainingMs
    cursor.size = documents.size
    return { documents, finished }
  }
  while (size === 0 || documents.count < size) {
    const next = cursor.pending ?? cursor.documents.next().value
    cursor.pending = undefined
    if (next === PAUSE) await cursor.timer.pause()
    else if (!next) return stop(true)
    else {
      // A document may be as large as a batch, so the first one always fits.
      const room = documents.count === 0 ? Number.POSITIVE_INFINITY : MAX_DOCUMENT_BYTES - bytes
      const head = headOf(next, size === 0 ? undefined : size - documents.count, room)
      documents.append(next.subarray(0, head.end))
      bytes += head.end
      if (head.end === next.length) continue
      cursor.pending = next.subarray(head.end)
      return stop(false)
    }
  }
  return stop(false)
}
