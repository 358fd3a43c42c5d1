import type { Db } from 'mongodb'
import {
  type ChangedRecord,
  type FindParticipants,
  type LoggedChange,
  loadRecordChanges,
  omitDeletedEhrs,
  parseChangeId,
  type RecordChange,
} from '../history/changes.ts'
import { type PeriodicTask, startPeriodicTask } from '../store/batching/periodic-task.ts'
import { LogicalClock } from '../store/clocks/logical-clock.ts'
import { unavailableError } from '../store/documents/outage.ts'
import { type HistoryEntry, historyCollection } from '../store/writing/history.ts'
import {
  type ChangeBatch,
  ChangeLog,
  type FeedPosition,
  formatPosition,
  MAX_CHANGES_PER_BATCH,
} from './change-log.ts'

/** A subscriber of the change feed. */
export interface FeedSubscriber {
  /** Whether a change may be relevant; called before any document is read. */
  concerns(change: ChangedRecord): boolean
  /** Called in the order of the log; must return immediately. */
  deliver(changes: readonly RecordChange[], position: FeedPosition): void
}

interface PendingSubscriber {
  subscriber: FeedSubscriber
  resolve(position: FeedPosition): void
  reject(reason: unknown): void
}

/**
 * The progress of this instance in log and history. Times are of the logical clock, or of this process
 * (`performance.now`).
 */
interface FeedProgress {
  batch: number
  changes: number
  /** When this process saw the last batch. */
  batchSeenAt: number
  /** The logical time of the last search of the history. */
  searchedUntil: number
  /** When this process last searched far back. */
  lookedBackAt: number
  /** The ids of logged changes, each with its logical time. */
  loggedTimes: Map<string, number>
}

const FEED_POLL_INTERVAL_MS = 100
/**
 * A change gets its logical time shortly before its commit, at most MAX_COMMIT_DELAY_MS before. A search
 * therefore reaches back: usually by SEARCH_OVERLAP_MS, at times by MAX_COMMIT_DELAY_MS.
 */
const SEARCH_OVERLAP_MS = 2_000
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
  readonly #findParticipants: FindParticipants
  readonly #log: ChangeLog
  readonly #clock: LogicalClock
  readonly #subscribers = new Set<FeedSubscriber>()
  readonly #loop: PeriodicTask
  #pending: PendingSubscriber[] = []
  #progress: FeedProgress | undefined

  /** @param onFault called with the first of several consecutive faults */
  constructor(db: Db, findParticipants: FindParticipants, onFault: (fault: unknown) => void) {
    this.#db = db
    this.#findParticipants = findParticipants
    this.#log = new ChangeLog(db)
    this.#clock = LogicalClock.of(db)
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
  subscribe(subscriber: FeedSubscriber): Promise<FeedPosition> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ subscriber, resolve, reject })
      this.#loop.wake()
    })
  }

  unsubscribe(subscriber: FeedSubscriber): void {
    this.#subscribers.delete(subscriber)
  }

  /** The position of the last change. @throws Unavailable */
  async position(): Promise<FeedPosition> {
    const nobody: FeedSubscriber = { concerns: () => false, deliver: () => {} }
    try {
      return await this.subscribe(nobody)
    } finally {
      this.unsubscribe(nobody)
    }
  }

  /** Reads the relevant changes between two positions. @returns undefined when the log no longer has them */
  async changesBetween(
    from: FeedPosition,
    to: FeedPosition,
    concerns: FeedSubscriber['concerns'],
  ): Promise<AsyncGenerator<RecordChange[]> | undefined> {
    return (await this.#log.hasChangesBetween(from, to)) ? this.#readBetween(from, to, concerns) : undefined
  }

  /**
   * Reads the relevant changes of at least the last `ms`, up to a position. After a pause of all writers older ones may be
   * among them. @returns undefined when they are too many
   */
  async changesShortlyBefore(
    to: FeedPosition,
    ms: number,
    concerns: FeedSubscriber['concerns'],
  ): Promise<RecordChange[] | undefined> {
    const since = this.#clock.before(ms + SEARCH_OVERLAP_MS)
    const batches = (await this.#log.batchesSince(since)).filter(({ _id }) => _id <= to.batch)
    const loggedChanges = batches.reverse().flatMap((batch) => wantedChangesIn(batch, concerns))
    if (loggedChanges.length > MAX_CHANGES_PER_BATCH) return undefined
    // The first batch after a pause has older changes, too.
    const recentChanges = historyCollection(this.#db).find(
      { _id: { $in: loggedChanges.map(({ changeId }) => changeId) }, logicalTime: { $gte: since } },
      { projection: { _id: 1 } },
    )
    const recent = new Set((await recentChanges.toArray()).map(({ _id }) => _id))
    const changes = await loadRecordChanges(
      this.#db,
      loggedChanges.filter(({ changeId }) => recent.has(changeId)),
    )
    return omitDeletedEhrs(this.#db, changes)
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
        const changes = wantedChangesIn(batch, concerns, batch._id === from.batch ? from.changes : 0)
        if (changes.length > 0) yield await this.#load(changes)
      }
      at = batches.at(-1)?._id ?? to.batch
    }
  }

  async #poll(): Promise<void> {
    await this.#clock.refresh()
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
    for (const { subscriber, resolve } of this.#pending.splice(0)) {
      this.#subscribers.add(subscriber)
      resolve({ batch, changes })
    }
  }

  /** Continues where the last instance stopped, unless too much has happened since. */
  async #startProgress(): Promise<FeedProgress> {
    const last = await this.#log.lastBatch()
    const goesOn =
      last?.logicalTime !== undefined &&
      (await this.#countChangesSince(last.logicalTime)) <= MAX_MISSED_CHANGES
    const firstBatch = goesOn ? last : await this.#log.restart(this.#clock.read())
    if (!firstBatch) return this.#startProgress()
    const before = await this.#log.batchesSince(firstBatch.logicalTime - 2 * MAX_COMMIT_DELAY_MS)
    const loggedTimes = before.flatMap(({ logicalTime, changes }) =>
      changes.map((id) => [id, logicalTime] as const),
    )
    return {
      batch: firstBatch._id,
      changes: firstBatch.changes.length,
      batchSeenAt: performance.now(),
      searchedUntil: firstBatch.logicalTime,
      lookedBackAt: Number.NEGATIVE_INFINITY,
      loggedTimes: new Map(loggedTimes),
    }
  }

  #countChangesSince(logicalTime: number): Promise<number> {
    const since = { logicalTime: { $gte: logicalTime } }
    return historyCollection(this.#db).countDocuments(since, { limit: MAX_MISSED_CHANGES + 1 })
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
    const now = performance.now()
    const searchedUntil = this.#clock.read()
    const isLookBack = now - progress.lookedBackAt >= LOOK_BACK_INTERVAL_MS
    const reach = isLookBack ? MAX_COMMIT_DELAY_MS : SEARCH_OVERLAP_MS
    const changes = await this.#findNewChanges(progress, progress.searchedUntil - reach)
    for (let i = 0; i < changes.length; i += MAX_CHANGES_PER_BATCH) {
      const ids = changes.slice(i, i + MAX_CHANGES_PER_BATCH).map(({ _id }) => _id)
      const batch = await this.#log.append(progress.batch, ids, this.#clock.read())
      if (!batch) return false
      await this.#deliver(progress, batch)
    }
    progress.searchedUntil = searchedUntil
    if (isLookBack) {
      progress.lookedBackAt = now
      for (const [id, at] of progress.loggedTimes)
        if (at < searchedUntil - 3 * MAX_COMMIT_DELAY_MS) progress.loggedTimes.delete(id)
    }
    if (now - progress.batchSeenAt < FEED_HEARTBEAT_INTERVAL_MS) return true
    const trace = await this.#log.append(progress.batch, [], this.#clock.read())
    if (trace) await this.#deliver(progress, trace)
    return trace !== undefined
  }

  /** Finds the committed changes since a logical time that the log lacks, in the order of their times. */
  async #findNewChanges({ loggedTimes }: FeedProgress, since: number): Promise<HistoryEntry[]> {
    const history = historyCollection(this.#db)
    const recent = await history
      .find({ logicalTime: { $gte: since } }, { projection: { _id: 1, logicalTime: 1 } })
      .toArray()
    for (const { logicalTime = 0 } of recent) this.#clock.observeChange(logicalTime)
    const fresh = recent.map(({ _id }) => _id).filter((id) => !loggedTimes.has(id))
    if (fresh.length === 0) return []
    return history
      .find({ _id: { $in: fresh } })
      .sort({ logicalTime: 1, _id: 1 })
      .toArray()
  }

  async #load(changes: readonly LoggedChange[]): Promise<RecordChange[]> {
    return omitDeletedEhrs(this.#db, await loadRecordChanges(this.#db, changes, this.#findParticipants))
  }

  async #deliver(progress: FeedProgress, batch: ChangeBatch): Promise<void> {
    const subscribers = [...this.#subscribers]
    const concerns = (record: ChangedRecord) => subscribers.some((one) => one.concerns(record))
    const changes = await this.#load(wantedChangesIn(batch, concerns))
    this.#clock.observe(batch.logicalTime)
    for (const id of batch.changes) progress.loggedTimes.set(id, batch.logicalTime)
    const position = { batch: batch._id, changes: batch.changes.length }
    Object.assign(progress, { ...position, batchSeenAt: performance.now() })
    for (const subscriber of subscribers)
      subscriber.deliver(
        changes.filter((one) => subscriber.concerns(one)),
        position,
      )
  }
}

/** The relevant changes of a batch, without the first `skipCount` ones. */
const wantedChangesIn = (
  { _id, changes }: ChangeBatch,
  wants: FeedSubscriber['concerns'],
  skipCount = 0,
): LoggedChange[] =>
  changes.flatMap((changeId, i) =>
    i >= skipCount && wants(parseChangeId(changeId))
      ? [{ changeId, position: formatPosition({ batch: _id, changes: i + 1 }) }]
      : [],
  )
