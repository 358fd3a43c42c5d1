import type { Db } from 'mongodb'
import { type Loop, periodically } from '../store/batching/periodically.ts'
import { unavailable } from '../store/documents/outage.ts'
import { type Change, changesOf } from '../store/writing/history.ts'
import {
  broughtAbout,
  type ChangedRecord,
  changedRecord,
  type Happening,
  happeningsOf,
  type Placed,
} from './happenings.ts'
import { type Batch, ChangeLog, KEPT_MS, MOST_CHANGES, type Position, positionText } from './log.ts'

/** Somebody who wants to hear what happens. */
export interface Follower {
  /** Whether a change may be of interest: asked before anything is read. */
  concerns(change: ChangedRecord): boolean
  /** Told in the order of the log; must not be waited for. */
  tell(happenings: readonly Happening[], position: Position): void
}

interface Waiting {
  follower: Follower
  resolve(position: Position): void
  reject(reason: unknown): void
}

/** Up to where this instance has looked. */
interface Progress {
  batch: number
  changes: number
  /** When the last batch was written. */
  batchAt: number
  /** When the history was looked through last, and when far back. */
  lookedAt: number
  lookedBackAt: number
  /** The changes that have their place in the log, with the time of each. */
  placed: Map<string, number>
  /** Announced writes that Parse Server has not done yet, and until when it may. */
  announced: Map<string, { change: Change; until: number }>
}

const LOOK_MS = 100
/** A change gets its time before it is committed: usually just before, and never longer than this. */
const OVERLAP_MS = 1_000
const LATEST_MS = 60_000
const LOOK_BACK_MS = 10_000
/** An instance that looks leaves a trace, so that whoever looks next knows from where. */
const TRACE_MS = 10_000
/** More than this is not made up for: nobody is told to have heard all. */
const MOST_MISSED = 50_000
const BATCHES_AT_ONCE = 100

/**
 * Follows the history as long as anybody wants to know: finds what is new in it, gives it a place in the log, and tells.
 * @see docs/decisions/live.md
 */
export class Tail {
  readonly #db: Db
  readonly #log: ChangeLog
  readonly #followers = new Set<Follower>()
  readonly #loop: Loop
  #waiting: Waiting[] = []
  #progress: Progress | undefined

  /** @param onFault told of the first of several faults in a row */
  constructor(db: Db, onFault: (fault: unknown) => void) {
    this.#db = db
    this.#log = new ChangeLog(db)
    let failing = false
    const look = async () => {
      await this.#look()
      failing = false
    }
    this.#loop = periodically(LOOK_MS, look, (fault) => {
      if (!failing) onFault(fault)
      failing = true
    })
  }

  /** From now on; @returns up to where everything had been heard before. @throws Unavailable */
  follow(follower: Follower): Promise<Position> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ follower, resolve, reject })
      this.#loop.wake()
    })
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower)
  }

  /** What concerns a follower between two positions. @returns undefined when that is not known any more */
  async between(
    from: Position,
    to: Position,
    concerns: Follower['concerns'],
  ): Promise<AsyncGenerator<Happening[]> | undefined> {
    return (await this.#log.reachesBack(from)) ? this.#passages(from, to, concerns) : undefined
  }

  end(): Promise<void> {
    return this.#loop.end()
  }

  async *#passages(
    from: Position,
    to: Position,
    concerns: Follower['concerns'],
  ): AsyncGenerator<Happening[]> {
    for (let at = from.batch - 1; at < to.batch; ) {
      const batches = await this.#log.behind(at, BATCHES_AT_ONCE)
      for (const batch of batches.filter(({ _id }) => _id <= to.batch)) {
        const wanted = wantedIn(batch, concerns, batch._id === from.batch ? from.changes : 0)
        if (wanted.length > 0) yield await happeningsOf(this.#db, wanted)
      }
      at = batches.at(-1)?._id ?? to.batch
    }
  }

  async #look(): Promise<void> {
    if (this.#followers.size === 0 && this.#waiting.length === 0) {
      this.#progress = undefined
      return
    }
    try {
      this.#progress ??= await this.#begin()
      await this.#advance(this.#progress)
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(unavailable(error))
      throw error
    }
    const { batch, changes } = this.#progress
    for (const { follower, resolve } of this.#waiting.splice(0)) {
      this.#followers.add(follower)
      resolve({ batch, changes })
    }
  }

  /** Goes on where the last instance stopped, unless that is too long ago. */
  async #begin(): Promise<Progress> {
    const now = Date.now()
    const last = await this.#log.last()
    const goesOn =
      last !== null && now - last.at.getTime() < KEPT_MS && (await this.#missedSince(last.at)) <= MOST_MISSED
    const begun = goesOn ? last : await this.#log.restart(last?._id ?? 0)
    if (!begun) return this.#begin()
    const before = await this.#log.since(new Date(begun.at.getTime() - 2 * LATEST_MS))
    const placed = before.flatMap(({ at, changes }) => changes.map((id) => [id, at.getTime()] as const))
    return {
      ...{ batch: begun._id, changes: begun.changes.length, batchAt: begun.at.getTime() },
      ...{ lookedAt: begun.at.getTime(), lookedBackAt: 0 },
      ...{ placed: new Map(placed), announced: new Map() },
    }
  }

  #missedSince(at: Date): Promise<number> {
    return changesOf(this.#db).countDocuments({ at: { $gte: at } }, { limit: MOST_MISSED + 1 })
  }

  async #advance(progress: Progress): Promise<void> {
    for (let ahead = true; ahead; ) {
      await this.#hearOthers(progress)
      ahead = !(await this.#place(progress))
    }
  }

  /** What other instances have given a place. */
  async #hearOthers(progress: Progress): Promise<void> {
    for (let more = true; more; ) {
      const batches = await this.#log.behind(progress.batch, BATCHES_AT_ONCE)
      for (const batch of batches) await this.#tell(progress, batch)
      more = batches.length === BATCHES_AT_ONCE
    }
  }

  /** Gives what is new a place. @returns whether no other instance came first */
  async #place(progress: Progress): Promise<boolean> {
    const now = Date.now()
    const found = await this.#found(progress, now)
    for (let i = 0; i < found.length; i += MOST_CHANGES) {
      const ids = found.slice(i, i + MOST_CHANGES).map(({ _id }) => _id)
      const batch = await this.#log.append(progress.batch, ids)
      if (!batch) return false
      await this.#tell(progress, batch)
    }
    progress.lookedAt = now
    if (now - progress.lookedBackAt >= LOOK_BACK_MS) {
      progress.lookedBackAt = now
      for (const [id, at] of progress.placed) if (at < now - 3 * LATEST_MS) progress.placed.delete(id)
    }
    if (now - progress.batchAt < TRACE_MS) return true
    const trace = await this.#log.append(progress.batch, [])
    if (trace) await this.#tell(progress, trace)
    return trace !== undefined
  }

  /** What has come about and has no place yet, in the order of its times. */
  async #found({ lookedAt, lookedBackAt, placed, announced }: Progress, now: number): Promise<Change[]> {
    const back = now - lookedBackAt >= LOOK_BACK_MS ? LATEST_MS : OVERLAP_MS
    const history = changesOf(this.#db)
    const recent = await history
      .find({ at: { $gte: new Date(lookedAt - back) } }, { projection: { _id: 1 } })
      .toArray()
    const fresh = recent.map(({ _id }) => _id).filter((id) => !placed.has(id) && !announced.has(id))
    const changes = fresh.length > 0 ? await history.find({ _id: { $in: fresh } }).toArray() : []
    for (const change of changes)
      if (change.announced) announced.set(change._id, { change, until: change.at.getTime() + LATEST_MS })
    const done = await broughtAbout(
      this.#db,
      [...announced.values()].map(({ change }) => change),
    )
    for (const [id, { until }] of announced) {
      if (until >= now) continue
      // It was refused: nothing is to be told of it.
      announced.delete(id)
      placed.set(id, until)
    }
    return [...changes.filter(({ announced }) => !announced), ...done].sort(
      (a, b) => a.at.getTime() - b.at.getTime() || (a._id < b._id ? -1 : 1),
    )
  }

  async #tell(progress: Progress, batch: Batch): Promise<void> {
    const followers = [...this.#followers]
    const concerns = (record: ChangedRecord) => followers.some((one) => one.concerns(record))
    const happenings = await happeningsOf(this.#db, wantedIn(batch, concerns))
    const at = batch.at.getTime()
    for (const id of batch.changes) {
      progress.placed.set(id, at)
      progress.announced.delete(id)
    }
    const position = { batch: batch._id, changes: batch.changes.length }
    Object.assign(progress, { ...position, batchAt: at })
    for (const follower of followers)
      follower.tell(
        happenings.filter((one) => follower.concerns(one)),
        position,
      )
  }
}

/** The changes of a batch that are wanted, without so many at its beginning. */
const wantedIn = ({ _id, changes }: Batch, wants: Follower['concerns'], skipped = 0): Placed[] =>
  changes.flatMap((changeId, i) =>
    i >= skipped && wants(changedRecord(changeId))
      ? [{ changeId, position: positionText({ batch: _id, changes: i + 1 }) }]
      : [],
  )
