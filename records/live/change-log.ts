import type { Collection, Db, IndexDescription } from 'mongodb'
import { isDuplicateKeyError } from '../store/documents/database.ts'
import { historyCollection } from '../store/writing/history.ts'

/**
 * Changes found at the same moment, by the ids of their history entries. Batches are numbered without gaps,
 * so only one instance can append the next one.
 */
export interface ChangeBatch {
  _id: number
  at: Date
  changes: string[]
}

/** A position in the feed: the batch, and the number of its changes that were delivered. */
export interface FeedPosition {
  batch: number
  changes: number
}

/** The log keeps changes for this time. */
export const CHANGE_RETENTION_MS = 3_600_000
const CHANGE_RETENTION_S = CHANGE_RETENTION_MS / 1000 + 600

/** Changes per batch. */
export const MAX_CHANGES_PER_BATCH = 500

/** More than an instance can write in an hour: the numbers of a restarted log exceed all earlier ones. */
const MAX_BATCHES_PER_HOUR = 1_000_000

export const formatPosition = ({ batch, changes }: FeedPosition): string => `${batch}-${changes}`

/** @returns undefined for an invalid position */
export function parsePosition(text: string): FeedPosition | undefined {
  const [, batch, changes] = /^(\d{1,15})-(\d{1,3})$/.exec(text) ?? []
  return batch === undefined ? undefined : { batch: Number(batch), changes: Number(changes) }
}

/** No Parse class can have a name with a dot, so the class family never reaches the collection. */
const changeBatchesOf = (db: Db): Collection<ChangeBatch> => db.collection<ChangeBatch>('changes.log')

/** The index of the log, and the index of the history that finds new changes. */
export const changeLogIndexes = (db: Db): [collection: string, IndexDescription[]][] => [
  [
    changeBatchesOf(db).collectionName,
    [{ name: 'age', key: { at: 1 }, expireAfterSeconds: CHANGE_RETENTION_S }],
  ],
  [historyCollection(db).collectionName, [{ name: 'recent', key: { at: 1, _id: 1 } }]],
]

/** The common order of the changes of the last hour, for all instances. @see docs/decisions/live.md */
export class ChangeLog {
  readonly #batches: Collection<ChangeBatch>

  constructor(db: Db) {
    this.#batches = changeBatchesOf(db)
  }

  lastBatch(): Promise<ChangeBatch | null> {
    return this.#batches.findOne({}, { sort: { _id: -1 } })
  }

  /** The batches after a given one, in order. */
  batchesAfter(batch: number, most: number): Promise<ChangeBatch[]> {
    return this.#batches
      .find({ _id: { $gt: batch } })
      .sort({ _id: 1 })
      .limit(most)
      .toArray()
  }

  batchesSince(at: Date): Promise<ChangeBatch[]> {
    return this.#batches.find({ at: { $gte: at } }).toArray()
  }

  /** The log contains all changes after this position. */
  async hasPosition({ batch, changes }: FeedPosition): Promise<boolean> {
    const found = await this.#batches.findOne({ _id: batch })
    return found !== null && found.changes.length >= changes
  }

  /** @returns undefined when another instance appended first; read its batch before the next attempt */
  async append(behind: number, changes: string[]): Promise<ChangeBatch | undefined> {
    const batch = { _id: behind + 1, at: new Date(), changes }
    try {
      await this.#batches.insertOne(batch)
      return batch
    } catch (error) {
      if (isDuplicateKeyError(error)) return undefined
      throw error
    }
  }

  /** Restarts the log after a long pause; earlier changes are unknown. */
  async restart(last: number): Promise<ChangeBatch | undefined> {
    const hour = Math.floor(Date.now() / CHANGE_RETENTION_MS)
    const begun = await this.append(Math.max(last, hour * MAX_BATCHES_PER_HOUR), [])
    if (begun) await this.#batches.deleteMany({ _id: { $lt: begun._id } })
    return begun
  }
}
