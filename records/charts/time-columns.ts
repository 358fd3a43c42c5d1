import type { Document } from 'mongodb'
import type { Database } from '../store/documents/database.ts'
import { NumberRows } from './number-rows.ts'

/** The times of records, and their values in each series; NaN if a record has none. */
export interface TimeColumns {
  times: Float64Array
  values: Float64Array[]
}

/** Number of documents in one reply of the database. */
const BATCH_SIZE = 20_000

/**
 * Reads only times and values of records, sorted by time, because there may be a hundred thousand records.
 * @param filters disjoint: no record matches two of them
 * @param fields the stored fields of the values; `anxiety.score` is one inside an object
 */
export async function readTimeColumns(
  database: Database,
  collection: string,
  filters: readonly Document[],
  fields: readonly string[],
): Promise<TimeColumns> {
  const allFields = ['timestamp', ...fields]
  const allColumns = await Promise.all(
    filters.map((filter) => readRows(database, collection, filter, allFields)),
  )
  const nonemptyColumns = allColumns.filter(([times]) => times && times.length > 0)
  if (nonemptyColumns.length === 1) return sortByTime(nonemptyColumns[0] as Float64Array[])
  return sortByTime(
    allFields.map((_, i) => concatenate(nonemptyColumns.map((columns) => columns[i] as Float64Array))),
  )
}

function concatenate(parts: readonly Float64Array[]): Float64Array {
  const column = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    column.set(part, at)
    at += part.length
  }
  return column
}

/** The driver's cursor with the reply that it reads from: creating objects from it takes eight times as long. */
interface ReplyCursor {
  documents: { cursor: { toBytes(): Uint8Array }; clear(): void }
  hasNext(): Promise<boolean>
  close(): Promise<void>
}

async function readRows(
  { db }: Database,
  collection: string,
  filter: Document,
  fields: readonly string[],
): Promise<Float64Array[]> {
  const rows = new NumberRows(fields)
  const options = { projection: rows.projection, batchSize: BATCH_SIZE }
  const cursor = db.collection(collection).find(filter, options) as unknown as ReplyCursor
  try {
    for (let hasMore = await cursor.hasNext(); hasMore; ) {
      const batch = cursor.documents.cursor.toBytes()
      cursor.documents.clear()
      // The database prepares the next batch while this one is read.
      const following = cursor.hasNext()
      rows.add(batch)
      hasMore = await following
    }
    return rows.columns
  } finally {
    await cursor.close()
  }
}

/** An index may return the newest first, or the measurements of several plans one plan after the other. */
function sortByTime([times = new Float64Array(), ...values]: readonly Float64Array[]): TimeColumns {
  if (isSorted(times)) return { times, values }
  for (const column of [times, ...values]) column.reverse()
  if (isSorted(times)) return { times, values }
  const order = Uint32Array.from(times.keys()).sort((a, b) => (times[a] as number) - (times[b] as number))
  const sortColumn = (column: Float64Array) => Float64Array.from(order, (i) => column[i] as number)
  return { times: sortColumn(times), values: values.map(sortColumn) }
}

const isSorted = (times: Float64Array): boolean => {
  for (let i = 1; i < times.length; i++) if ((times[i - 1] as number) > (times[i] as number)) return false
  return true
}
