/**
 * The result of the last write of each session, committed together with that write. If the answer was lost
 * and the client sends the write again, it is not carried out again, even after a restart.
 */
import { type Document, Long } from 'bson'
import { decode, encode, toNumber } from '../values/bson-values.ts'
import { CommandError } from '../values/errors.ts'
import { toBigInt } from '../values/numbers.ts'
import { keyInSpace } from './collections/catalog.ts'
import type { View, WritableView } from './disk/overlay.ts'

/** The result of a statement. */
export interface StatementResult {
  matched: number
  modified: number
  before?: Document | undefined
  after?: Document | undefined
  upsertedId?: unknown
}

/** One write of a session; a transaction counts as one write, too. */
export interface WriteId {
  session: string
  number: bigint
}

/** The results of statements that were committed together, starting at a position. */
interface Part {
  key: Buffer
  from: number
  statements: number
  bytes: number
}

interface LastWrite {
  number: bigint
  parts: Part[]
}

/** Beyond these numbers of sessions or bytes the oldest results are forgotten. */
const MAX_SESSIONS = 1000
const MAX_BYTES = 32 * 2 ** 20

const keyOf = (name: string): Buffer => keyInSpace(0, Buffer.from(`w${name}`))

export class LastWrites {
  readonly #sessions = new Map<string, LastWrite>()
  #bytes = 0

  /** Loads the results from disk. */
  load(view: View): void {
    this.#sessions.clear()
    this.#bytes = 0
    const storedWrites = [...view.range(keyOf(''), keyInSpace(0, Buffer.from('x')))].map(({ key, value }) => {
      const { session, number, at, from, statements } = decode(value)
      const part = { key, from: toNumber(from), statements: toNumber(statements), bytes: value.length }
      return { session, number: toBigInt(number), at: toNumber(at), part }
    })
    for (const { session, number, part } of storedWrites.sort((a, b) => a.at - b.at))
      this.#remember({ session, number }, part)
  }

  /** @throws 225 for a number older than the session's last one */
  check({ session, number }: WriteId): void {
    const last = this.#sessions.get(session)
    if (last && number < last.number)
      throw new CommandError(225, `Retryable write ${number} is older than ${last.number} of its session.`)
  }

  /** Whether any statement of the write has been carried out. */
  has({ session, number }: WriteId): boolean {
    return this.#sessions.get(session)?.number === number
  }

  /** The result of one statement; undefined if it was not carried out, or changed nothing. */
  find(view: View, { session, number }: WriteId, statement: number): StatementResult | undefined {
    const last = this.#sessions.get(session)
    if (last?.number !== number) return undefined
    for (const { key, from, statements } of last.parts) {
      if (statement < from || statement >= from + statements) continue
      let end = from
      for (const row of decode(view.get(key) as Buffer).done) {
        const { times, ...result } = parseResult(row)
        end += times
        if (statement < end && isDone(result)) return result
        if (statement < end) break
      }
    }
    return undefined
  }

  /** Stores the results of consecutive statements, in the job that carried them out. */
  record(view: WritableView, write: WriteId, from: number, results: readonly StatementResult[]): void {
    if (results.some(isDone)) this.#record(view, write, from, results)
  }

  /** Stores that a transaction has been committed. */
  recordCommit(view: WritableView, write: WriteId): void {
    this.#record(view, write, 0, [])
  }

  #record(view: WritableView, write: WriteId, from: number, results: readonly StatementResult[]): void {
    const { session, number } = write
    if (this.#sessions.get(session)?.number !== number) this.#forget(view, session)
    const parts = this.#sessions.get(session)?.parts.length ?? 0
    const key = keyOf(parts === 0 ? session : `${session}/${parts}`)
    const at = Date.now()
    const statements = results.length
    const document = {
      session,
      number: Long.fromBigInt(number),
      at,
      from,
      statements,
      done: mergeEqualResults(results),
    }
    const value = encode(document)
    view.put(key, value)
    this.#remember(write, { key, from, statements, bytes: value.length })
    while (this.#sessions.size > MAX_SESSIONS || (this.#bytes > MAX_BYTES && this.#sessions.size > 1))
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

/** Merges equal results, such as those of inserts. */
const mergeEqualResults = (results: readonly StatementResult[]): Document[] => {
  const rows: (StatementResult & { times: number })[] = []
  for (const result of results) {
    const last = rows.at(-1)
    const same = last?.matched === result.matched && last.modified === result.modified
    if (same && isCount(last) && isCount(result)) last.times++
    else rows.push({ ...result, times: 1 })
  }
  return rows
}

const isDone = ({ matched, upsertedId }: StatementResult): boolean => matched > 0 || upsertedId !== undefined

/** Whether the number of changed documents describes the whole result. */
const isCount = ({ before, after, upsertedId }: StatementResult): boolean =>
  before === undefined && after === undefined && upsertedId === undefined

const parseResult = (row: Document): StatementResult & { times: number } => ({
  ...(row as StatementResult),
  matched: toNumber(row.matched),
  modified: toNumber(row.modified),
  times: toNumber(row.times),
})
