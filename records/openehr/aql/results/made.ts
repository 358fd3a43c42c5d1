import type { Found } from '../evaluation/ways/listing.ts'
import type { Query } from '../language/ast.ts'
import { compareKeys, type Key, type Term } from '../terms/terms.ts'

/** A row as it is answered: what it says, and where it is from. */
export interface Made {
  /** The values of its columns as JSON. */
  cells: string[]
  /** By what it is ordered. */
  keys: Key[]
  /** The EHRs that it is made of, each with the records. */
  from: readonly { ehrId: string; records: readonly string[] }[]
}

/** Which of the rows are asked for. */
export interface Window {
  offset: number
  limit: number
}

/** Takes rows in, and gives out those that are asked for: at once where it can, else at the end. */
export interface Collector {
  add(row: Found, ehrId: string): Made[]
  /** What is given out last. */
  end(): Made[]
  /** Whether no further row can change anything. */
  isFull(): boolean
  /** Whether there are more rows than were asked for; known at the end. */
  hasMore(): boolean
}

/** What is kept of each row beside its text, in bytes. */
const ROW = 200

export const sizeOf = ({ cells }: Pick<Made, 'cells'>): number =>
  cells.reduce((sum, cell) => sum + 2 * cell.length, ROW)

/** A value as JSON; of an object all that the model has of it. */
export const cellOf = ({ value }: Term): string => JSON.stringify(value ?? null)

/** How rows are ordered; of equals the one that came first. */
export const comparing =
  ({ orderBy }: Query) =>
  (a: Pick<Made, 'keys'>, b: Pick<Made, 'keys'>): number => {
    for (const [i, { descending }] of orderBy.entries()) {
      const order = compareKeys(a.keys[i], b.keys[i])
      if (order !== 0) return descending ? -order : order
    }
    return 0
  }
