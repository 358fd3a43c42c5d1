import type { Db, MongoClient } from 'mongodb'
import { createSharedRead } from '../batching/batched-lookup.ts'

/** The clock stands still while nobody writes for longer. So the clocks of idle instances stay close. */
const MAX_IDLE_MS = 3_000
/** By then each instance knows the newest time of the others. */
const REFRESH_INTERVAL_MS = 1_000
/** An older reading is not trusted: the process may have been paused. */
const MAX_READING_AGE_MS = 10_000

/**
 * Orders the changes of all instances without a wall clock, like a Lamport clock: each instance continues
 * after the newest change in the database. It advances by milliseconds of this process, so that a distance is
 * a duration. A clock that is set back, or differs between machines, does not matter.
 */
export class LogicalClock {
  /** Each service has a client of its own, so services in one process share nothing. */
  static readonly #ofClients = new WeakMap<MongoClient, LogicalClock>()
  readonly #readNewest: (knownTime: number) => Promise<number>
  #newest = 0
  #newestAt = 0
  #readAt = Number.NEGATIVE_INFINITY
  #hasOtherInstances = false
  /** Called once if another process turns out to write changes, too. */
  onOtherWriter: (() => void) | undefined
  readonly #readNow = createSharedRead(() => this.refresh(0))

  /** @param readNewest finds the newest time in the database, if it is later than the known one */
  constructor(readNewest: (knownTime: number) => Promise<number>) {
    this.#readNewest = readNewest
  }

  /** The clock of a database, shared by all parts of the service. */
  static of(db: Db): LogicalClock {
    const ofClient = LogicalClock.#ofClients.get(db.client)
    const clock = ofClient ?? new LogicalClock((knownTime) => readNewestTime(db, knownTime))
    LogicalClock.#ofClients.set(db.client, clock)
    return clock
  }

  /** The present time. It has a meaning only after a refresh. */
  read(): number {
    return this.#newest + Math.floor(Math.min(performance.now() - this.#newestAt, MAX_IDLE_MS))
  }

  /** A time before all changes of the last `ms`, however long nobody has written. */
  before(ms: number): number {
    return this.#newest + Math.floor(performance.now() - this.#newestAt) - ms
  }

  /** From now on, a change is later than those that other instances have committed before it. */
  followOtherInstances(): void {
    this.#hasOtherInstances = true
  }

  /** The time of a change: later than all earlier ones of this process. */
  async next(): Promise<number> {
    await (this.#hasOtherInstances ? this.#readNow() : this.refresh(MAX_READING_AGE_MS))
    this.observe(Math.max(this.read(), this.#newest + 1))
    return this.#newest
  }

  /** Learns a time that this clock, or that of another instance, has shown. */
  observe(time: number): void {
    if (time > this.#newest) this.#advance(time)
  }

  /**
   * Learns the time of a change in the database. This process knows its own times before they get there. So a later one,
   * after the first reading, is of another instance, and this one follows it from then on.
   */
  observeChange(time: number): void {
    if (time <= this.#newest) return
    this.#advance(time)
    if (this.#hasOtherInstances || !Number.isFinite(this.#readAt)) return
    this.followOtherInstances()
    this.onOtherWriter?.()
  }

  #advance(time: number): void {
    this.#newest = time
    this.#newestAt = performance.now()
  }

  /** Learns the newest time in the database, unless the last reading is young. */
  async refresh(maxAgeMs = REFRESH_INTERVAL_MS): Promise<void> {
    if (performance.now() - this.#readAt < maxAgeMs) return
    const start = performance.now()
    this.observeChange(await this.#readNewest(this.#newest))
    this.#readAt = start
  }
}

async function readNewestTime(db: Db, knownTime: number): Promise<number> {
  const newest = await db
    .collection<{ logicalTime: number }>('history.changes')
    .findOne(
      { logicalTime: { $gt: knownTime } },
      { sort: { logicalTime: -1 }, projection: { _id: 0, logicalTime: 1 } },
    )
  return newest?.logicalTime ?? knownTime
}
