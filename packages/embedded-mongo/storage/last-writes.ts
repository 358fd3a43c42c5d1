/**
 * What the last write of each session has done, kept on disk together with that write: one that is sent again, because
 * its answer was lost, is not done again, not even by another process than the one that did it.
 */
import { type Document, Long } from 'bson'
import { CommandError } from '../values/errors.ts'
import { toBigInt } from '../values/numbers.ts'
import { decode, encode, toNumber } from '../values/values.ts'
import { inSpace } from './collections/catalog.ts'
import type { View, WritableView } from './disk/overlay.ts'

/** What a statement has done. */
export interface Changed {
  matched: number
  modified: number
  before?: Document | undefined
  after?: Document | undefined
  upsertedId?: unknown
}

/** One write of a session; a transaction is one write, too. */
export interface WriteId {
  session: string
  number: bigint
}

/** What was done together, of the statements from a position on. */
interface Part {
  key: Buffer
  from: number
  statements: number
  bytes: number
}

interface Last {
  number: bigint
  parts: Part[]
}

/** More sessions, or more bytes, and the oldest answers are forgotten. */
const MOST_SESSIONS = 1000
const MOST_BYTES = 32 * 2 ** 20

const keyOf = (name: string): Buffer => inSpace(0, Buffer.from(`w${name}`))

export class LastWrites {
  readonly #sessions = new Map<string, Last>()
  #bytes = 0

  /** Takes over what is on disk. */
  load(view: View): void {
    this.#sessions.clear()
    this.#bytes = 0
    const found = [...view.range(keyOf(''), inSpace(0, Buffer.from('x')))].map(({ key, value }) => {
      const { session, number, at, from, statements } = decode(value)
      const part = { key, from: toNumber(from), statements: toNumber(statements), bytes: value.length }
      return { session, number: toBigInt(number), at: toNumber(at), part }
    })
    for (const { session, number, part } of found.sort((a, b) => a.at - b.at))
      this.#remember({ session, number }, part)
  }

  /** @throws 225 for a number that is older than the session's last */
  check({ session, number }: WriteId): void {
    const last = this.#sessions.get(session)
    if (last && number < last.number)
      throw new CommandError(225, `Retryable write ${number} is older than ${last.number} of its session.`)
  }

  /** Whether something of it has been done. */
  has({ session, number }: WriteId): boolean {
    return this.#sessions.get(session)?.number === number
  }

  /** What one of its statements has done; undefined when it has not been done, or changed nothing. */
  find(view: View, { session, number }: WriteId, statement: number): Changed | undefined {
    const last = this.#sessions.get(session)
    if (last?.number !== number) return undefined
    for (const { key, from, statements } of last.parts) {
      if (statement < from || statement >= from + statements) continue
      let end = from
      for (const row of decode(view.get(key) as Buffer).done) {
        const { times, ...changed } = unfolded(row)
        end += times
        if (statement < end && isDone(changed)) return changed
        if (statement < end) break
      }
    }
    return undefined
  }

  /** Notes what statements have done, one after the other, in the job that did it. */
  note(view: WritableView, write: WriteId, from: number, done: readonly Changed[]): void {
    if (done.some(isDone)) this.#note(view, write, from, done)
  }

  /** Notes that a transaction has been committed. */
  noteCommit(view: WritableView, write: WriteId): void {
    this.#note(view, write, 0, [])
  }

  #note(view: WritableView, write: WriteId, from: number, done: readonly Changed[]): void {
    const { session, number } = write
    if (this.#sessions.get(session)?.number !== number) this.#forget(view, session)
    const parts = this.#sessions.get(session)?.parts.length ?? 0
    const key = keyOf(parts === 0 ? session : `${session}/${parts}`)
    const [at, statements] = [Date.now(), done.length]
    const kept = { session, number: Long.fromBigInt(number), at, from, statements, done: folded(done) }
    const value = encode(kept)
    view.put(key, value)
    this.#remember(write, { key, from, statements, bytes: value.length })
    while (this.#sessions.size > MOST_SESSIONS || (this.#bytes > MOST_BYTES && this.#sessions.size > 1))
      this.#forget(view, this.#sessions.keys().next().value as string)
  }

  #remember({ session, number }: WriteId, part: Part): void {
    const last = this.#sessions.get(session) ?? { number, parts: [] }
    this.#sessions.delete(session)
    this.#sessions.set(session, last)
    last.parts.push(part)
    this.#bytes += part.bytes
  }

  #forget(view: WritableView, session: string): void {
    for (const { key, bytes } of this.#sessions.get(session)?.parts ?? []) {
      view.remove(key)
      this.#bytes -= bytes
    }
    this.#sessions.delete(session)
  }
}

/** Of many that have done the same, as inserts have, one. */
const folded = (done: readonly Changed[]): Document[] => {
  const rows: (Changed & { times: number })[] = []
  for (const changed of done) {
    const last = rows.at(-1)
    const same = last?.matched === changed.matched && last.modified === changed.modified
    if (same && isCount(last) && isCount(changed)) last.times++
    else rows.push({ ...changed, times: 1 })
  }
  return rows
}

const isDone = ({ matched, upsertedId }: Changed): boolean => matched > 0 || upsertedId !== undefined

/** Whether no more is to be told of it than how many documents it changed. */
const isCount = ({ before, after, upsertedId }: Changed): boolean =>
  before === undefined && after === undefined && upsertedId === undefined

const unfolded = (row: Document): Changed & { times: number } => ({
  ...(row as Changed),
  matched: toNumber(row.matched),
  modified: toNumber(row.modified),
  times: toNumber(row.times),
})
