import type { PatternMatch } from '../evaluation/matches/match-enumerator.ts'
import type { QueryTree } from '../language/ast.ts'
import { compareSortKeys, type SortKey, type Term } from '../terms/terms.ts'

/** A row of the result, with its sources. */
export interface ResultRow {
  /** The values of the columns as JSON. */
  cells: string[]
  /** The values of ORDER BY. */
  keys: SortKey[]
  /** The place among rows with equal keys, if they do not come in their order. */
  rank?: number
  /** The sources: EHRs, each with its records. */
  sources: readonly { ehrId: string; records: readonly string[] }[]
}

/** The requested part of the rows. */
export interface RowWindow {
  offset: number
  limit: number
}

/** Collects rows, and returns the requested ones: at once if possible, otherwise at the end. */
export interface RowCollector {
  /** @yields undefined where the query may yield */
  add(row: PatternMatch, ehrId: string, rank?: number): Generator<undefined, ResultRow[]>
  /** Returns the remaining rows. */
  end(): ResultRow[]
  /** Whether further rows cannot change the result. */
  isFull(): boolean
  /** Whether rows whose first key does not sort before this one cannot change the result. */
  isSettled(bound: SortKey): boolean
  /** Whether there are more rows than requested; known at the end. */
  hasMore(): boolean
}

/** Memory of a row in addition to its text, in bytes. */
const ROW_OVERHEAD_BYTES = 200

export const rowSizeBytes = ({ cells }: Pick<ResultRow, 'cells'>): number =>
  cells.reduce((sum, cell) => sum + 2 * cell.length, ROW_OVERHEAD_BYTES)

/** A value as JSON; an object with all its attributes. */
export const toCellJson = ({ value }: Term): string => JSON.stringify(value ?? null)

/** The records that rows were made of, by EHR. */
export function sourcesOf(rows: readonly ResultRow[]): Map<string, string[]> {
  const sources = new Map<string, Set<string>>()
  // All groups share one set of sources, so each set is added only once.
  for (const rowSources of new Set(rows.map((one) => one.sources)))
    for (const { ehrId, records } of rowSources) {
      const recordIds = sources.get(ehrId) ?? new Set()
      for (const id of records) recordIds.add(id)
      sources.set(ehrId, recordIds)
    }
  return new Map([...sources].map(([ehrId, ids]) => [ehrId, [...ids]]))
}

/** Compares rows by ORDER BY, then by rank; other rows with equal keys stay in the order of their arrival. */
export const createRowComparator =
  ({ orderBy }: QueryTree) =>
  (a: Pick<ResultRow, 'keys' | 'rank'>, b: Pick<ResultRow, 'keys' | 'rank'>): number => {
    for (const [i, { descending }] of orderBy.entries()) {
      const order = compareSortKeys(a.keys[i], b.keys[i])
      if (order !== 0) return descending ? -order : order
    }
    return (a.rank ?? 0) - (b.rank ?? 0)
  }
