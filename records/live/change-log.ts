import type { Collection, Db, IndexDescription } from 'mongodb'
import { DELETED_RECORDS_INDEX } from '../history/deleted-records.ts'
import { DELETION_INDEX } from '../history/listed-changes.ts'
import { isDuplicateKeyError } from '../store/documents/database.ts'
import { historyCollection } from '../store/writing/history.ts'

/**
 * Changes found at the same moment, by the ids of their history entries. Batches are numbered without gaps,
 * so only one instance can append the next one.
 */
export interface ChangeBatch {
  _id: number
  /** Ends the retention; the order does not depend on it. */
  at: Date
  /** At least the logical time of each change. */
  logicalTime: number
  changes: string[]
}

/** A position in the feed: the batch, and the number of its changes that were delivered. */
export interface FeedPosition {
  batch: number
  changes: number
}

/** The log keeps changes for at least an hour. */
const CHANGE_RETENTION_S = 3600 + 600

/** Changes per batch. */
export const MAX_CHANGES_PER_BATCH = 500

/** The starts of the log, counted. The document has no `at`, so it never expires. */
interface LogStarts {
  _id: number
  starts: number
}
const STARTS_ID = -1

/** The first batch of a log, by its start; above all batches of earlier starts and releases. */
const firstBatchOf = (start: number): number => 1e12 + start * 1e9

export const formatPosition = ({ batch, changes }: FeedPosition): string => `${batch}-${changes}`

/** @returns undefined for an invalid position */
export function parsePosition(text: string): FeedPosition | undefined {
  const [, batch, changes] = /^(\d{1,15})-(\d{1,3})$/.exec(text) ?? []
  return batch === undefined ? undefined : { batch: Number(batch), changes: Number(changes) }
}

/** No Parse class can have a name with a dot, so the class family never reaches the collection. */
const changeBatchesOf = (db: Db): Collection<ChangeBatch> => db.collection<ChangeBatch>('changes.log')

/** The index of the log, and those of the history: for new changes, and for deletions. */
export const changeLogIndexes = (db: Db): [collection: string, IndexDescription[]][] => [
  [
    changeBatchesOf(db).collectionName,
    [{ name: 'age', key: { at: 1 }, expireAfterSeconds: CHANGE_RETENTION_S }],
  ],
  [
    historyCollection(db).collectionName,
    [{ name: 'logicalTime', key: { logicalTime: 1, _id: 1 } }, DELETION_INDEX, DELETED_RECORDS_INDEX],
  ],
]

/** The common order of the changes of the last hour, for all instances. @see docs/decisions/live.md */
export class ChangeLog {
  readonly #batches: Collection<ChangeBatch>
  readonly #starts: Collection<LogStarts>

  constructor(db: Db) {
    this.#batches = changeBatchesOf(db)
    this.#starts = db.collection<LogStarts>(this.#batches.collectionName)
  }

  lastBatch(): Promise<ChangeBatch | null> {
    return this.#batches.findOne({ _id: { $gt: 0 } }, { sort: { _id: -1 } })
  }

  /** The batches after a given one, in order. */
  batchesAfter(batch: number, most: number): Promise<ChangeBatch[]> {
    return this.#batches
      .find({ _id: { $gt: batch } })
      .sort({ _id: 1 })
      .limit(most)
      .toArray()
  }

  /** The last batches, back to a logical time. */
  async batchesSince(logicalTime: number): Promise<ChangeBatch[]> {
    const batches: ChangeBatch[] = []
    for await (const batch of this.#batches.find({ _id: { $gt: 0 } }).sort({ _id: -1 })) {
      if (!(batch.logicalTime >= logicalTime)) break
      batches.push(batch)
    }
    return batches
  }

  /** The log contains all changes between these positions. After a change of the clock, batches may be missing. */
  async hasChangesBetween(from: FeedPosition, to: FeedPosition): Promise<boolean> {
    const batch = await this.#batches.findOne({ _id: from.batch })
    if (!batch || batch.changes.length < from.changes) return false
    const count = await this.#batches.countDocuments({ _id: { $gte: from.batch, $lte: to.batch } })
    return count === to.batch - from.batch + 1
  }

  /** @returns undefined when another instance appended first; read its batch before the next attempt */
  async append(behind: number, changes: string[], logicalTime: number): Promise<ChangeBatch | undefined> {
    const batch = { _id: behind + 1, at: new Date(), logicalTime, changes }
    try {
      await this.#batches.insertOne(batch)
      return batch
    } catch (error) {
      if (isDuplicateKeyError(error)) return undefined
      throw error
    }
  }

  /** Restarts the log after a long pause; earlier changes are unknown, and no earlier position is valid. */
  async restart(logicalTime: number): Promise<ChangeBatch | undefined> {
    const starts = ((await this.#starts.findOne({ _id: STARTS_ID }))?.starts ?? 0) + 1
    const firstBatch = await this.append(firstBatchOf(starts), [], logicalTime)
    if (!firstBatch) return undefined
    await this.#starts.updateOne({ _id: STARTS_ID }, { $max: { starts } }, { upsert: true })
    await this.#batches.deleteMany({ _id: { $gt: 0, $lt: firstBatch._id } })
    return firstBatch
  }
}
