import type { Collection, Db, IndexDescription } from 'mongodb'
import { isDuplicate } from '../store/documents/database.ts'
import { changesOf } from '../store/writing/history.ts'

/**
 * Changes that were found at the same moment, by the ids of their entries in the history. The batches follow each other
 * without a gap, so that of two instances one gives a change its place.
 */
export interface Batch {
  _id: number
  at: Date
  changes: string[]
}

/** Up to where somebody has heard: the batch, and how many of its changes. */
export interface Position {
  batch: number
  changes: number
}

/** How long it can be asked what happened behind a position. */
export const KEPT_MS = 3_600_000
const KEPT_SECONDS = KEPT_MS / 1000 + 600

/** Changes in one batch. */
export const MOST_CHANGES = 500

/** More than an instance can find in an hour: batches that begin anew count on behind all earlier ones. */
const IN_AN_HOUR = 1_000_000

export const positionText = ({ batch, changes }: Position): string => `${batch}-${changes}`

/** @returns undefined for what is no position */
export function positionOf(text: string): Position | undefined {
  const [, batch, changes] = /^(\d{1,15})-(\d{1,3})$/.exec(text) ?? []
  return batch === undefined ? undefined : { batch: Number(batch), changes: Number(changes) }
}

/** A name that no Parse class can have: the class family never reaches it. */
const batchesOf = (db: Db): Collection<Batch> => db.collection<Batch>('changes.log')

/** Of the log, and the one by which it finds what is new in the history. */
export const logIndexes = (db: Db): [collection: string, IndexDescription[]][] => [
  [batchesOf(db).collectionName, [{ name: 'age', key: { at: 1 }, expireAfterSeconds: KEPT_SECONDS }]],
  [changesOf(db).collectionName, [{ name: 'recent', key: { at: 1, _id: 1 } }]],
]

/** The order in which everybody hears of the changes of the last hour. @see docs/decisions/live.md */
export class ChangeLog {
  readonly #batches: Collection<Batch>

  constructor(db: Db) {
    this.#batches = batchesOf(db)
  }

  last(): Promise<Batch | null> {
    return this.#batches.findOne({}, { sort: { _id: -1 } })
  }

  /** The batches behind one, in their order. */
  behind(batch: number, most: number): Promise<Batch[]> {
    return this.#batches
      .find({ _id: { $gt: batch } })
      .sort({ _id: 1 })
      .limit(most)
      .toArray()
  }

  /** The batches since a moment. */
  since(at: Date): Promise<Batch[]> {
    return this.#batches.find({ at: { $gte: at } }).toArray()
  }

  /** Whether everything is known that came behind a position. */
  async reachesBack({ batch, changes }: Position): Promise<boolean> {
    const found = await this.#batches.findOne({ _id: batch })
    return found !== null && found.changes.length >= changes
  }

  /** @returns undefined when another instance came first: what it has found is to be read before */
  async append(behind: number, changes: string[]): Promise<Batch | undefined> {
    const batch = { _id: behind + 1, at: new Date(), changes }
    try {
      await this.#batches.insertOne(batch)
      return batch
    } catch (error) {
      if (isDuplicate(error)) return undefined
      throw error
    }
  }

  /** Begins anew where nobody has looked for long: nothing is known of what came before. */
  async restart(last: number): Promise<Batch | undefined> {
    const hour = Math.floor(Date.now() / KEPT_MS)
    const begun = await this.append(Math.max(last, hour * IN_AN_HOUR), [])
    if (begun) await this.#batches.deleteMany({ _id: { $lt: begun._id } })
    return begun
  }
}
