/**
 * Bytes on disk: one ordered key space in lmdb. Writes are committed in groups; each is durable before it is
 * acknowledged.
 */
import { open, type RangeOptions, type RootDatabase } from 'lmdb'
import { CommandError } from '../../values/errors.ts'
import { freeBytesOf, UNWRITABLE_DISK_EXIT_CODE } from './file-access.ts'
import { type Entry, Overlay, type View, type Visitor } from './overlay.ts'

const MAX_ENTRIES_PER_READ = 512
/** Keys are small. */
const MAX_KEYS_PER_READ = 4096
const FIRST_READ_SIZE = 32

/**
 * The limit of open snapshots. Each session can have a transaction with a snapshot; short reads need some,
 * too.
 */
const MAX_SNAPSHOTS = 10_100

/** The last commit, unchanged while the snapshot is open. */
export interface Snapshot extends View {
  /** The number of groups at that time. */
  readonly commits: number
  release(): void
}

interface Range {
  low: Buffer
  high: Buffer
  reverse: boolean
  expected?: number | undefined
}

interface Job<T> {
  run(view: Overlay): T
  resolve(value: T): void
  reject(error: unknown): void
}

interface FinishedJob {
  job: Job<unknown>
  /** Resolves or rejects the caller's promise. */
  answer(): void
}

/** Jobs whose changes become durable together. */
interface Group {
  changes: Overlay
  finishedJobs: FinishedJob[]
  /** Resolves when the changes are on disk, with an error if the write failed. */
  commit?: Promise<CommandError | undefined>
}

/** With more free space than this, a commit always has room. */
const AMPLE_FREE_BYTES = 2 ** 28
/** A commit writes its values, the pages that lead to them, and the list of free pages. */
const COMMIT_BYTES = 2 ** 18
const CHANGE_BYTES = 2 ** 13

const createFullDiskError = () =>
  new CommandError(14031, 'no space left on the disk of the data; nothing was written')

/** lmdb's memory is unsound after a failed commit, and the process would crash sooner or later. */
const stopAfterFailedCommit = (cause: unknown): never => {
  process.stderr.write(
    `embedded-mongo: the disk of the data accepts no writes (${cause}). Free space on it, or raise its quota, then start again.\n`,
  )
  process.exit(UNWRITABLE_DISK_EXIT_CODE)
}

/** The time for which jobs run before other work gets a turn, and for which a group accepts more of them. */
const JOB_SLICE_MS = 10
const JOB_GROUP_MS = 100

/** The bounds of low <= key < high. */
const boundsOf = (low: Buffer, high: Buffer, reverse: boolean): RangeOptions =>
  reverse
    ? { start: high, end: low, exclusiveStart: true, inclusiveEnd: true, reverse }
    : { start: low, end: high }

/** Reads in chunks. Each starts after the last key, so that a suspended reader keeps nothing open. */
function* readInChunks<T>(
  { low, high, reverse, expected = FIRST_READ_SIZE }: Range,
  read: (bounds: RangeOptions) => Iterable<T>,
  keyOf: (item: T) => Buffer,
  chunk: number,
  commits: () => number,
): Iterable<T> {
  let from = low
  let to = high
  for (let limit = expected; ; limit = Math.min(2 * limit, chunk)) {
    const bounds = { ...boundsOf(from, to, reverse), ...(from !== low && { exclusiveStart: true }) }
    const before = commits()
    const items = [...read({ ...bounds, limit })]
    let hasChanged = false
    for (const item of items) {
      yield item
      if (reverse) to = keyOf(item)
      else from = keyOf(item)
      hasChanged = commits() !== before
      if (hasChanged) break
    }
    if (!hasChanged && items.length < limit) return
  }
}

const constantCommits = (): number => 0

/** Runs a job. If it fails, only its own changes are undone. @returns a function that answers its caller */
const runJob = (group: Overlay, { run, resolve, reject }: Job<unknown>): (() => void) => {
  const changes = new Overlay(group)
  try {
    const value = run(changes)
    changes.applyTo(group)
    return () => resolve(value)
  } catch (error) {
    return () => reject(error)
  }
}

export class Storage implements View {
  readonly #db: RootDatabase<Buffer, Buffer>
  readonly #file: string
  /** Receives keys in lmdb's own buffer during a visit. */
  #visitor: Visitor | undefined
  #queue: Job<unknown>[] = []
  #committing: Promise<void> | undefined
  /** Number of groups so far. If it changes, a reader discards the entries that it read ahead. */
  #commits = 0
  /** The group on its way to the disk, or the one on top of it. */
  #group: View | undefined
  /** Ends the wait for a job or for the disk. */
  #wake: () => void = () => {}

  /** Called if a group could not be committed: what its jobs keep in memory is no longer valid. */
  onFailedCommit: () => void = () => {}

  constructor(file: string) {
    this.#file = file
    this.#db = open<Buffer, Buffer>({
      path: file,
      encoding: 'binary',
      keyEncoder: {
        writeKey: (key: Uint8Array, target: Uint8Array, start: number) => {
          target.set(key, start)
          return start + key.length
        },
        readKey: (target: Uint8Array, start: number, end: number) =>
          this.#visitor ? this.#visitor(target, start, end) : Buffer.from(target.subarray(start, end)),
      },
      noSubdir: true,
      // With this option, a commit resolves only when it is on disk.
      overlappingSync: false,
      maxReaders: MAX_SNAPSHOTS,
    })
  }

  get(key: Buffer): Buffer | undefined {
    return this.#db.get(key)
  }

  range(low: Buffer, high: Buffer, reverse = false, expected?: number): Iterable<Entry> {
    return this.#range({ low, high, reverse, expected }, () => ({}))
  }

  keys(low: Buffer, high: Buffer, reverse = false, expected?: number): Iterable<Buffer> {
    return this.#keys({ low, high, reverse, expected }, () => ({}))
  }

  visit(low: Buffer, high: Buffer, reverse: boolean, most: number, visitor: Visitor): Buffer | undefined {
    return this.#visit(boundsOf(low, high, reverse), most, visitor)
  }

  #visit(bounds: RangeOptions, most: number, visitor: Visitor): Buffer | undefined {
    let left = most
    let last: Buffer | undefined
    this.#visitor = (bytes, start, end) => {
      const more = visitor(bytes, start, end) && --left > 0
      if (!more) last = Buffer.from(bytes.subarray(start, end))
      return more
    }
    try {
      for (const more of this.#db.getKeys(bounds) as Iterable<unknown>) if (!more) break
    } finally {
      this.#visitor = undefined
    }
    return last
  }

  count(low: Buffer, high: Buffer): number {
    return this.#db.getKeysCount({ start: low, end: high })
  }

  /** A view that includes changes not on disk yet. Compare with them; never return them to clients. */
  get latest(): View {
    return this.#group ?? this
  }

  /** Whether no write has run since the snapshot. */
  isCurrent({ commits }: Snapshot): boolean {
    return !this.#group && commits === this.#commits
  }

  #range(range: Range, options: () => object, commits = () => this.#commits): Iterable<Entry> {
    const read = (bounds: RangeOptions) => this.#db.getRange({ ...bounds, ...options() })
    return readInChunks(range, read, ({ key }) => key, MAX_ENTRIES_PER_READ, commits)
  }

  #keys(range: Range, options: () => object, commits = () => this.#commits): Iterable<Buffer> {
    const read = (bounds: RangeOptions) => this.#db.getKeys({ ...bounds, ...options() })
    return readInChunks(range, read, (key) => key, MAX_KEYS_PER_READ, commits)
  }

  snapshot(): Snapshot {
    this.#db.resetReadTxn()
    const transaction = this.#db.useReadTransaction()
    let isReleased = false
    const readOptions = () => {
      if (isReleased) throw new Error('the snapshot has been released')
      return { transaction }
    }
    return {
      commits: this.#commits,
      get: (key) => this.#db.get(key, readOptions()),
      range: (low, high, reverse = false, expected) =>
        this.#range({ low, high, reverse, expected }, readOptions, constantCommits),
      keys: (low, high, reverse = false, expected) =>
        this.#keys({ low, high, reverse, expected }, readOptions, constantCommits),
      visit: (low, high, reverse, most, visitor) =>
        this.#visit({ ...boundsOf(low, high, reverse), ...readOptions() }, most, visitor),
      count: (low, high) => this.#db.getKeysCount({ start: low, end: high, ...readOptions() }),
      release: () => {
        isReleased = true
        transaction.done()
      },
    }
  }

  /**
   * Runs `run` alone, after all writes queued before it, on a view that includes their changes. An error
   * undoes only its own changes. Resolves when the changes are on disk.
   */
  write<T>(run: (view: Overlay) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run, resolve, reject } as Job<unknown>)
      if (this.#committing) this.#wake()
      else this.#committing = this.#drain()
    })
  }

  /** Group commit: while one group is on its way to the disk, the jobs of the next one run on top of it. */
  async #drain(): Promise<void> {
    // Requests that arrive in the same turn of the event loop share the first commit.
    await new Promise(setImmediate)
    let before: Group | undefined
    do {
      const group: Group = { changes: new Overlay(before?.changes ?? this), finishedJobs: [] }
      this.#group = group.changes
      await this.#runQueued(group, before)
      const fault = await before?.commit
      if (fault) {
        this.onFailedCommit()
        for (const { job } of [...(before?.finishedJobs ?? []), ...group.finishedJobs]) job.reject(fault)
      } else if (group.finishedJobs.length > 0) {
        group.changes.rebase(this)
        group.commit = this.#commit(group)
      }
      before = group.commit && group
    } while (before || this.#queue.length > 0)
    this.#group = undefined
    this.#committing = undefined
  }

  /**
   * Runs the queued jobs, and further ones until the previous group is written. Long jobs let other work in
   * between.
   */
  async #runQueued(group: Group, before: Group | undefined): Promise<void> {
    let writing = before !== undefined
    before?.commit?.then(() => {
      writing = false
      this.#wake()
    })
    let workMs = 0
    let slice = 0
    while (workMs < JOB_GROUP_MS) {
      if (slice > JOB_SLICE_MS) {
        await new Promise(setImmediate)
        slice = 0
      }
      const job = this.#queue.shift()
      if (!job && !writing) return
      if (!job) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      const start = performance.now()
      group.finishedJobs.push({ job, answer: runJob(group.changes, job) })
      const took = performance.now() - start
      workMs += took
      slice += took
    }
  }

  async #commit({ changes, finishedJobs }: Group): Promise<CommandError | undefined> {
    if (!this.#hasRoom(changes)) return createFullDiskError()
    if (!changes.empty) await this.#apply(changes).catch(stopAfterFailedCommit)
    for (const { answer } of finishedJobs) answer()
    return undefined
  }

  /** Asked before the commit, because a failed one ends the process. */
  #hasRoom(changes: Overlay): boolean {
    const free = freeBytesOf(this.#file)
    if (free > AMPLE_FREE_BYTES) return true
    let needed = COMMIT_BYTES
    for (const { value } of changes.changesInOrder()) needed += CHANGE_BYTES + (value?.length ?? 0)
    return needed <= free
  }

  async #apply(group: Overlay): Promise<void> {
    const commit = this.#db.batch(() => {
      for (const { key, value } of group.changesInOrder()) {
        if (value) this.#db.put(key, value)
        else this.#db.remove(key)
      }
    })
    // lmdb reports the cause in a separate promise.
    await commit.catch(async (error) => {
      await error.commitError
      throw error
    })
    this.#db.resetReadTxn()
    this.#commits++
  }

  /** Copies the current data while reads and writes continue. */
  async copyTo(file: string): Promise<void> {
    await this.#db.backup(file, true)
  }

  /** Waits for the queued writes. */
  async close(): Promise<void> {
    await this.#committing
    await this.#db.close()
  }
}
