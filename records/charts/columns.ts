import type { Document } from 'mongodb'
import type { Database } from '../store/documents/database.ts'
import { QUERY_MS } from '../store/reading/deadline.ts'
import { NumberRows } from './raw-rows.ts'

/** The times of records, and their values in each series; NaN where a record has none. */
export interface Columns {
  times: Float64Array
  values: Float64Array[]
}

/** Documents in one message of the database. */
const BATCH = 20_000

/**
 * Reads times and values of records, in the order of time, and nothing else of them: there may be a hundred thousand.
 * @param filters what one of them finds no other does
 * @param fields the stored fields of the values, `anxiety.score` for one inside an object
 */
export async function readColumns(
  database: Database,
  collection: string,
  filters: readonly Document[],
  fields: readonly string[],
): Promise<Columns> {
  const stored = ['timestamp', ...fields]
  const found = await Promise.all(filters.map((filter) => readRows(database, collection, filter, stored)))
  const some = found.filter(([times]) => times && times.length > 0)
  if (some.length === 1) return inOrder(some[0] as Float64Array[])
  return inOrder(stored.map((_, i) => joined(some.map((columns) => columns[i] as Float64Array))))
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

async function readRows(
  { client, db }: Database,
  collection: string,
  filter: Document,
  fields: readonly string[],
): Promise<Float64Array[]> {
  const rows = new NumberRows(fields)
  const { projection } = rows
  const session = client.startSession()
  try {
    const ask = async (command: Document): Promise<Uint8Array> =>
      (await db.command(command, { session, raw: true })).cursor as Uint8Array
    let answer = await ask({ find: collection, filter, projection, batchSize: BATCH, maxTimeMS: QUERY_MS })
    for (let next = rows.next(answer); next !== 0n; next = rows.next(answer)) {
      // The database finds the next ones while these are read.
      const following = ask({ getMore: next, collection, batchSize: BATCH })
      rows.add(answer)
      answer = await following
    }
    rows.add(answer)
    return rows.columns
  } finally {
    await session.endSession()
  }
}

/** An index may hold the newest first, and the measurements of several plans one plan after the other. */
function inOrder([times = new Float64Array(), ...values]: readonly Float64Array[]): Columns {
  if (isSorted(times)) return { times, values }
  for (const column of [times, ...values]) column.reverse()
  if (isSorted(times)) return { times, values }
  const order = Uint32Array.from(times.keys()).sort((a, b) => (times[a] as number) - (times[b] as number))
  const sorted = (column: Float64Array) => Float64Array.from(order, (i) => column[i] as number)
  return { times: sorted(times), values: values.map(sorted) }
}

const isSorted = (times: Float64Array): boolean => {
  for (let i = 1; i < times.length; i++) if ((times[i - 1] as number) > (times[i] as number)) return false
  return true
}
