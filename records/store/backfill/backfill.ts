import { setImmediate as giveWay } from 'node:timers/promises'
import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb'
import { type PeriodicTask, startPeriodicTask } from '../batching/periodic-task.ts'
import { dueCondition } from '../clocks/lease.ts'
import { type Database, documentCollection, isDuplicateIdError } from '../documents/database.ts'
import { newId } from '../documents/ids.ts'
import type { ParseDocument } from '../documents/parse-format.ts'
import type { Derivation, DerivationContext } from './derivation.ts'

/** The state of a collection's backfill. */
interface BackfillState {
  /** The collection's name. */
  _id: string
  /** The version with which all documents are derived; 0: unknown. */
  version: number
  /** Set during a backfill: the version being derived, the working instance, its lease and its progress. */
  target?: number
  worker?: string
  leaseUntil?: Date
  after?: string
  done?: number
}

/** Progress of a collection's backfill, for logs and metrics. */
export interface BackfillProgress {
  collection: string
  done: number
  estimatedTotal: number
  /** Documents whose fields could not be derived; they stay unchanged. */
  failed: number
}

/** Refuses to start on data that this version of the service might damage. */
export const newerDataError = (): Error =>
  new Error(
    'The database contains data of a newer version of this service. Start that version, or restore an older backup.',
  )

const backfillStateCollection = (db: Db): Collection<BackfillState> =>
  db.collection<BackfillState>('data.derivations')

/** Sorts before every id. */
const BEFORE_FIRST_ID = ''
const LEASE_POLL_INTERVAL_MS = 1000
/** Must exceed the duration of a batch. */
const BACKFILL_LEASE_MS = 10_000
const PROGRESS_INTERVAL_MS = 5000

/**
 * Derives fields again that another version of the service stored differently or not at all. It works in the
 * background, batch by batch, and resumes after its last batch. A collection is pending until all its
 * documents are derived.
 * @see docs/decisions/derived-data.md
 */
export class Backfill {
  readonly #db: Db
  readonly #derivations: readonly Derivation[]
  readonly #pending = new Map<string, Derivation>()
  /** Number of documents left, by collection. */
  readonly remaining = new Map<string, number>()
  readonly #worker = newId()
  #context: DerivationContext | undefined

  constructor({ client, db }: Database, derivations: readonly Derivation[]) {
    // The same database without the filters that hide documents from reads.
    this.#db = client.db(db.databaseName)
    this.#derivations = derivations
  }

  /** The backfill is open and no collection is pending. */
  get isDone(): boolean {
    return this.#context !== undefined && this.#pending.size === 0
  }

  /** The derivation of a pending collection. */
  pendingIn(collection: string): Derivation | undefined {
    return this.#pending.get(collection)
  }

  /** Returns a document with its derived fields, as the backfill will store it. */
  async complete({ complete }: Derivation, document: ParseDocument): Promise<ParseDocument> {
    return this.#context && complete ? complete(this.#context, document) : document
  }

  /** Determines the pending collections; empty ones never are. @throws Error for data of a newer version */
  async open(context: DerivationContext): Promise<void> {
    this.#context = { ...context, db: this.#db }
    for (const derivation of this.#derivations) await this.#check(derivation)
  }

  /** Derives fields until no collection is pending. One instance works on a collection; the others wait. */
  start(onProgress: (progress: BackfillProgress) => void, onFault: (fault: unknown) => void): PeriodicTask {
    const work = async (ending: AbortSignal) => {
      for (const derivation of this.#pending.values())
        await this.#deriveCollection(derivation, ending, onProgress)
    }
    return startPeriodicTask(LEASE_POLL_INTERVAL_MS, work, onFault)
  }

  async #check(derivation: Derivation): Promise<void> {
    const { collection, version } = derivation
    const state = await backfillStateCollection(this.#db).findOne({ _id: collection })
    if ((state?.version ?? 0) > version || (state?.target ?? 0) > version) throw newerDataError()
    if (state?.version === version) return
    const documents = documentCollection({ db: this.#db }, collection)
    if (!(await documents.findOne({}, { projection: { _id: 1 } }))) return this.#finish(derivation)
    this.#pending.set(collection, derivation)
    this.remaining.set(collection, await documents.estimatedDocumentCount())
  }

  async #deriveCollection(
    derivation: Derivation,
    ending: AbortSignal,
    onProgress: (progress: BackfillProgress) => void,
  ): Promise<void> {
    const { collection } = derivation
    const state = await this.#acquireLease(derivation)
    if (!state) return
    const estimatedTotal = await documentCollection({ db: this.#db }, collection).estimatedDocumentCount()
    const progress = { collection, done: state.done ?? 0, estimatedTotal, failed: 0 }
    for (let { after = BEFORE_FIRST_ID } = state, reportedAt = performance.now(); !ending.aborted; ) {
      const batch = await this.#deriveBatch(derivation, after)
      if (batch.last === undefined) {
        await this.#finish(derivation)
        return onProgress(progress)
      }
      after = batch.last
      progress.done += batch.count
      progress.failed += batch.failed
      this.remaining.set(collection, Math.max(estimatedTotal - progress.done, 0))
      if (!(await this.#saveProgress(derivation, after, progress.done))) return
      if (performance.now() - reportedAt < PROGRESS_INTERVAL_MS) continue
      reportedAt = performance.now()
      onProgress({ ...progress })
    }
    await this.#releaseLease(derivation)
  }

  /** @returns undefined while another instance works on the collection, or when it is done */
  async #acquireLease({ collection, version }: Derivation): Promise<BackfillState | undefined> {
    const states = backfillStateCollection(this.#db)
    const state = await states.findOne({ _id: collection })
    if (state?.version === version) {
      this.#markDone(collection)
      return undefined
    }
    const startState = state?.target === version ? state : { after: BEFORE_FIRST_ID, done: 0 }
    const former = { _id: collection, version: state?.version ?? 0 }
    const nextState = { ...former, ...startState, target: version, ...this.#newLease() }
    const free = [{ leaseUntil: { $exists: false } }, dueCondition('leaseUntil', BACKFILL_LEASE_MS)]
    try {
      const filter = { ...former, $or: [...free, { worker: this.#worker }] }
      await states.replaceOne(filter, nextState, { upsert: true })
      return nextState
    } catch (error) {
      if (isDuplicateIdError(error)) return undefined
      throw error
    }
  }

  #newLease() {
    return { worker: this.#worker, leaseUntil: new Date(Date.now() + BACKFILL_LEASE_MS) }
  }

  async #deriveBatch(
    derivation: Derivation,
    after: string,
  ): Promise<{ last: string | undefined; count: number; failed: number }> {
    const documents = documentCollection({ db: this.#db }, derivation.collection)
    const batch = await documents
      .find({ _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(derivation.batchSize)
      .toArray()
    const writes: AnyBulkWriteOperation<ParseDocument>[] = []
    const context = this.#context as DerivationContext
    let failureCount = 0
    for (const document of batch) {
      await giveWay()
      const derivedWrites = await derivation
        .writesFor(context, document as ParseDocument)
        .catch(() => undefined)
      if (!derivedWrites) failureCount += 1
      writes.push(...(derivedWrites ?? []))
    }
    const updates = writes.filter((write) => 'updateOne' in write).length
    const result = writes.length > 0 ? await documents.bulkWrite(writes) : undefined
    // A concurrent request changed or removed some of them: derive the batch again.
    if (result && result.matchedCount < updates) return this.#deriveBatch(derivation, after)
    return { last: batch.at(-1)?._id, count: batch.length, failed: failureCount }
  }

  /** @returns false when another instance has taken the collection over */
  async #saveProgress({ collection, version }: Derivation, after: string, done: number): Promise<boolean> {
    const { matchedCount } = await backfillStateCollection(this.#db).updateOne(
      { _id: collection, target: version, worker: this.#worker },
      { $set: { after, done, ...this.#newLease() } },
    )
    return matchedCount > 0
  }

  async #releaseLease({ collection }: Derivation): Promise<void> {
    const mine = { _id: collection, worker: this.#worker }
    await backfillStateCollection(this.#db).updateOne(mine, { $unset: { worker: '', leaseUntil: '' } })
  }

  async #finish({ collection, version }: Derivation): Promise<void> {
    const working = { target: '', worker: '', leaseUntil: '', after: '', done: '' } as const
    await backfillStateCollection(this.#db).updateOne(
      { _id: collection },
      { $set: { version }, $unset: working },
      { upsert: true },
    )
    this.#markDone(collection)
  }

  #markDone(collection: string): void {
    this.#pending.delete(collection)
    this.remaining.delete(collection)
  }
}
