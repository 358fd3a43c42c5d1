import type { Db } from 'mongodb'
import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { unavailableError } from '../store/documents/outage.ts'
import { type HistoryEntry, historyCollection } from '../store/writing/history.ts'
import {
  CHANGE_RETENTION_MS,
  type ChangeBatch,
  ChangeLog,
  type FeedPosition,
  formatPosition,
  MAX_CHANGES_PER_BATCH,
} from './change-log.ts'
import {
  type ChangedRecord,
  type LoggedChange,
  loadRecordChanges,
  parseChangeId,
  type RecordChange,
} from './changes.ts'

/** A subscriber of the change feed. */
export interface FeedSubscriber {
  /** Tells whether a change may be relevant; called before any document is read. */
  concerns(change: ChangedRecord): boolean
  /** Called in the order of the log; must return immediately. */
  deliver(happenings: readonly RecordChange[], position: FeedPosition): void
}

interface PendingSubscriber {
  follower: FeedSubscriber
  resolve(position: FeedPosition): void
  reject(reason: unknown): void
}

/** The progress of this instance in log and history. */
interface FeedProgress {
  batch: number
  changes: number
  /** Time of the last batch. */
  batchAt: number
  /** Time of the last search of the history, and of the last one that looked far back. */
  lookedAt: number
  lookedBackAt: number
  /** The ids of logged changes, each with its time. */
  placed: Map<string, number>
}

const FEED_POLL_INTERVAL_MS = 100
/**
 * A change gets its time shortly before its commit, at most MAX_COMMIT_DELAY_MS before. A search therefore
 * reaches back: usually by OVERLAP_MS, at times by MAX_COMMIT_DELAY_MS.
 */
const SEARCH_OVERLAP_MS = 1_000
const MAX_COMMIT_DELAY_MS = 60_000
const LOOK_BACK_INTERVAL_MS = 10_000
/** An instance that searches appends empty batches, so that the next one knows where to start. */
const FEED_HEARTBEAT_INTERVAL_MS = 10_000
/** A larger backlog is not caught up: the feed restarts, and no subscriber is told that it missed nothing. */
const MAX_MISSED_CHANGES = 50_000
const BATCH_READ_SIZE = 100

/**
 * While there are subscribers, finds new changes in the history, appends them to the log and delivers them.
 * @see docs/decisions/live.md
 */
export class ChangeFeed {
  readonly #db: Db
  readonly #log: ChangeLog
  readonly #subscribers = new Set<FeedSubscriber>()
  readonly #loop: PeriodicTask
  #pending: PendingSubscriber[] = []
  #progress: FeedProgress | undefined

  /** @param onFault called with the first of several consecutive faults */
  constructor(db: Db, onFault: (fault: unknown) => void) {
    this.#db = db
    this.#log = new ChangeLog(db)
    let failing = false
    const look = async () => {
      await this.#poll()
      failing = false
    }
    this.#loop = startPeriodicTask(FEED_POLL_INTERVAL_MS, look, (fault) => {
      if (!failing) onFault(fault)
      failing = true
    })
  }

  /**
   * Subscribes from now on. @returns the position of the last change before the subscription
   * @throws Unavailable
   */
  subscribe(follower: FeedSubscriber): Promise<FeedPosition> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ follower, resolve, reject })
      this.#loop.wake()
    })
  }

  unsubscribe(follower: FeedSubscriber): void {
    this.#subscribers.delete(follower)
  }

  /** Reads the relevant changes between two positions. @returns undefined when the log no longer has them */
  async changesBetween(
    from: FeedPosition,
    to: FeedPosition,
    concerns: FeedSubscriber['concerns'],
  ): Promise<AsyncGenerator<RecordChange[]> | undefined> {
    return (await this.#log.hasPosition(from)) ? this.#readBetween(from, to, concerns) : undefined
  }

  end(): Promise<void> {
    return this.#loop.stop()
  }

  async *#readBetween(
    from: FeedPosition,
    to: FeedPosition,
    concerns: FeedSubscriber['concerns'],
  ): AsyncGenerator<RecordChange[]> {
    for (let at = from.batch - 1; at < to.batch; ) {
      const batches = await this.#log.batchesAfter(at, BATCH_READ_SIZE)
      for (const batch of batches.filter(({ _id }) => _id <= to.batch)) {
        const wanted = wantedChangesIn(batch, concerns, batch._id === from.batch ? from.changes : 0)
        if (wanted.length > 0) yield await loadRecordChanges(this.#db, wanted)
      }
      at = batches.at(-1)?._id ?? to.batch
    }
  }

  async #poll(): Promise<void> {
    if (this.#subscribers.size === 0 && this.#pending.length === 0) {
      this.#progress = undefined
      return
    }
    try {
      this.#progress ??= await this.#startProgress()
      await this.#advance(this.#progress)
    } catch (error) {
      for (const { reject } of this.#pending.splice(0)) reject(unavailableError(error))
      throw error
    }
    const { batch, changes } = this.#progress
    for (const { follower, resolve } of this.#pending.splice(0)) {
      this.#subscribers.add(follower)
      resolve({ batch, changes })
    }
  }

  /** Continues where the last instance stopped, unless that is too long ago. */
  async #startProgress(): Promise<FeedProgress> {
    const now = Date.now()
    const last = await this.#log.lastBatch()
    const goesOn =
      last !== null &&
      now - last.at.getTime() < CHANGE_RETENTION_MS &&
      (await this.#countMissedSince(last.at)) <= MAX_MISSED_CHANGES
    const begun = goesOn ? last : await this.#log.restart(last?._id ?? 0)
    if (!begun) return this.#startProgress()
    const before = await this.#log.batchesSince(new Date(begun.at.getTime() - 2 * MAX_COMMIT_DELAY_MS))
    const placed = before.flatMap(({ at, changes }) => changes.map((id) => [id, at.getTime()] as const))
    return {
      ...{ batch: begun._id, changes: begun.changes.length, batchAt: begun.at.getTime() },
      ...{ lookedAt: begun.at.getTime(), lookedBackAt: 0 },
      placed: new Map(placed),
    }
  }

  #countMissedSince(at: Date): Promise<number> {
    return historyCollection(this.#db).countDocuments({ at: { $gte: at } }, { limit: MAX_MISSED_CHANGES + 1 })
  }

  async #advance(progress: FeedProgress): Promise<void> {
    for (let ahead = true; ahead; ) {
      await this.#readOtherInstances(progress)
      ahead = !(await this.#logNewChanges(progress))
    }
  }

  /** Delivers the batches that other instances have appended. */
  async #readOtherInstances(progress: FeedProgress): Promise<void> {
    for (let more = true; more; ) {
      const batches = await this.#log.batchesAfter(progress.batch, BATCH_READ_SIZE)
      for (const batch of batches) await this.#deliver(progress, batch)
      more = batches.length === BATCH_READ_SIZE
    }
  }

  /** Appends new changes to the log. @returns false when another instance has appended first */
  async #logNewChanges(progress: FeedProgress): Promise<boolean> {
    const now = Date.now()
    const found = await this.#findNewChanges(progress, now)
    for (let i = 0; i < found.length; i += MAX_CHANGES_PER_BATCH) {
      const ids = found.slice(i, i + MAX_CHANGES_PER_BATCH).map(({ _id }) => _id)
      const batch = await this.#log.append(progress.batch, ids)
      if (!batch) return false
      await this.#deliver(progress, batch)
    }
    progress.lookedAt = now
    if (now - progress.lookedBackAt >= LOOK_BACK_INTERVAL_MS) {
      progress.lookedBackAt = now
      for (const [id, at] of progress.placed)
        if (at < now - 3 * MAX_COMMIT_DELAY_MS) progress.placed.delete(id)
    }
    if (now - progress.batchAt < FEED_HEARTBEAT_INTERVAL_MS) return true
    const trace = await this.#log.append(progress.batch, [])
    if (trace) await this.#deliver(progress, trace)
    return trace !== undefined
  }

  /** Finds the committed changes that the log lacks, in the order of their times. */
  async #findNewChanges(
    { lookedAt, lookedBackAt, placed }: FeedProgress,
    now: number,
  ): Promise<HistoryEntry[]> {
    const back = now - lookedBackAt >= LOOK_BACK_INTERVAL_MS ? MAX_COMMIT_DELAY_MS : SEARCH_OVERLAP_MS
    const history = historyCollection(this.#db)
    const recent = await history
      .find({ at: { $gte: new Date(lookedAt - back) } }, { projection: { _id: 1 } })
      .toArray()
    const fresh = recent.map(({ _id }) => _id).filter((id) => !placed.has(id))
    if (fresh.length === 0) return []
    return history
      .find({ _id: { $in: fresh } })
      .sort({ at: 1, _id: 1 })
      .toArray()
  }

  async #deliver(progress: FeedProgress, batch: ChangeBatch): Promise<void> {
    const followers = [...this.#subscribers]
    const concerns = (record: ChangedRecord) => followers.some((one) => one.concerns(record))
    const happenings = await loadRecordChanges(this.#db, wantedChangesIn(batch, concerns))
    const at = batch.at.getTime()
    for (const id of batch.changes) progress.placed.set(id, at)
    const position = { batch: batch._id, changes: batch.changes.length }
    Object.assign(progress, { ...position, batchAt: at })
    for (const follower of followers)
      follower.deliver(
        happenings.filter((one) => follower.concerns(one)),
        position,
      )
  }
}

/** The relevant changes of a batch, without the first `skipped` ones. */
const wantedChangesIn = (
  { _id, changes }: ChangeBatch,
  wants: FeedSubscriber['concerns'],
  skipped = 0,
): LoggedChange[] =>
  changes.flatMap((changeId, i) =>
    i >= skipped && wants(parseChangeId(changeId))
      ? [{ changeId, position: formatPosition({ batch: _id, changes: i + 1 }) }]
      : [],
  )
