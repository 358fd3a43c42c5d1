import { createHash } from 'node:crypto'
import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { PendingWrites } from '../batching/pending-writes.ts'
import { waitWithTimeout } from '../batching/queue.ts'
import type { Database } from '../documents/database.ts'
import { REQUEST_WAIT_TIMEOUT_MS } from '../documents/outage.ts'

/** A transaction that holds locks. */
export interface LockHolder {
  session: ClientSession
  /** The locks within this process, kept across retries. */
  locks: ReturnType<EhrLocks['beginTransaction']>
  /** The EHRs that the transaction has locked exclusively. */
  exclusiveEhrs: Set<string>
}

const lockUpdates = (names: readonly string[]) =>
  [...new Set(names)].map((_id) => ({
    updateOne: { filter: { _id }, update: { $inc: { turns: 1 } }, upsert: true },
  }))

/**
 * Writes lock documents. If several transactions write the same document, one commits; the others conflict and retry.
 */
async function writeLocks(
  database: Pick<Database, 'db'>,
  { session }: Pick<LockHolder, 'session'>,
  names: readonly string[],
): Promise<void> {
  const updates = lockUpdates(names)
  if (updates.length > 0) await ehrLockCollection(database).bulkWrite(updates, { session, ordered: false })
}

/** Lock documents of an EHR: this many transactions can add to it at the same time. */
const EHR_STRIPE_COUNT = 4

const ehrStripesOf = (ehrId: string): string[] =>
  Array.from({ length: EHR_STRIPE_COUNT }, (_, stripe) => ehrStripeId(ehrId, stripe))

const ehrStripeId = (ehrId: string, stripe: number): string => (stripe === 0 ? ehrId : `${ehrId}/${stripe}`)

/**
 * Locks EHRs exclusively, to close, remove or count records there. A shared lock writes one stripe of an EHR,
 * an exclusive lock all of them. So nobody adds a record to a plan that is being closed.
 * @param ids ids of the resources to lock, usually of EHRs
 */
export async function lockExclusive(
  database: Pick<Database, 'db'>,
  tx: LockHolder,
  ids: readonly string[],
): Promise<void> {
  const fresh = ids.filter((one) => !tx.exclusiveEhrs.has(one))
  for (const one of fresh) {
    tx.locks.blockShared(one)
    tx.locks.contendFor(one)
  }
  await writeLocks(database, tx, fresh.flatMap(ehrStripesOf))
  for (const one of fresh) tx.exclusiveEhrs.add(one)
}

/**
 * Locks EHRs for adding records, and the records that these reference, by the next writes of the transaction.
 * @see {@link lockExclusive}
 */
export function lockShared(
  database: Pick<Database, 'db'>,
  tx: LockHolder & { pending: PendingWrites },
  ehrIds: readonly string[],
  referencedRecords: readonly ReferencedRecord[],
): void {
  const { stripe } = tx.locks
  const fresh = ehrIds.filter((ehrId) => !tx.exclusiveEhrs.has(ehrId))
  const ofEhrs = fresh.map((ehrId) => ehrStripeId(ehrId, stripe % EHR_STRIPE_COUNT))
  const ofRecords = referencedRecords.map((one) => recordStripeId(one, stripe % RECORD_STRIPE_COUNT))
  tx.pending.add(ehrLockCollection(database), lockUpdates([...ofEhrs, ...ofRecords]))
}

/** Deletes the lock documents of a purged EHR. */
export const deleteEhrLocks = async (database: Pick<Database, 'db'>, ehrId: string): Promise<void> => {
  await ehrLockCollection(database).deleteMany({ _id: { $in: ehrStripesOf(ehrId) } })
}

/** The EHR locks; the collection keeps its former name. */
export const ehrLockCollection = ({ db }: Pick<Database, 'db'>): Collection<{ _id: string; turns: number }> =>
  db.collection('ehr.turns')

/** A record that another one needs while that one is written, such as the template of a composition. */
export interface ReferencedRecord {
  collection: string
  id: string
}

/** Lock documents of a referenced record: this many writers can use it without a conflict. */
const RECORD_STRIPE_COUNT = 16

const recordStripeId = ({ collection, id }: ReferencedRecord, stripe: number): string =>
  `${collection}/${id}/${stripe}`

/** Locks a record exclusively for its removal: it conflicts with every transaction that references the record. */
export const lockForRemoval = (
  database: Pick<Database, 'db'>,
  tx: Pick<LockHolder, 'session'>,
  referencedRecord: ReferencedRecord,
): Promise<void> =>
  writeLocks(
    database,
    tx,
    Array.from({ length: RECORD_STRIPE_COUNT }, (_, stripe) => recordStripeId(referencedRecord, stripe)),
  )

/**
 * Locks a condition under which a record is created. So a transaction with the same condition finds what another one has
 * created. There are 256 lock documents, so different conditions rarely conflict.
 */
export async function lockCondition(
  database: Pick<Database, 'db'>,
  tx: Pick<LockHolder, 'session' | 'locks'>,
  condition: string,
): Promise<void> {
  const name = `condition/${createHash('sha256').update(condition).digest().readUInt8()}`
  tx.locks.contendFor(name)
  await writeLocks(database, tx, [name])
}

/** The locks of this process. Other processes compete through the lock documents in the database. */
export class EhrLocks {
  /** Random, so that two processes rarely write the same stripes. */
  readonly #firstStripe = Math.floor(Math.random() * RECORD_STRIPE_COUNT)
  readonly #stripesInUse = new Set<number>()
  readonly #exclusiveLocks = new LockQueues()
  readonly #queues = new LockQueues()

  beginTransaction() {
    let stripe = this.#firstStripe
    while (this.#stripesInUse.has(stripe)) stripe++
    this.#stripesInUse.add(stripe)
    const blockedEhrIds = new Set<string>()
    const contendedNames = new Set<string>()
    const releases: (() => void)[] = []
    let isQueued = false
    return {
      /** Unique among the running transactions of this process. */
      stripe,
      /** Makes the writers of this process wait until release: each of them could cause another conflict. */
      blockShared: (ehrId: string): void => {
        if (!blockedEhrIds.has(ehrId)) releases.push(this.#exclusiveLocks.enter(ehrId))
        blockedEhrIds.add(ehrId)
      },
      /** Names a resource that other transactions compete for. */
      contendFor: (name: string): void => void contendedNames.add(name),
      /**
       * Waits for those that queued earlier for the same resources: of transactions that retry at the same time, only
       * one would commit. @throws TooManyRequests
       */
      queueAfterConflict: async (): Promise<void> => {
        if (isQueued) return
        isQueued = contendedNames.size > 0
        // Sorted, so that two transactions never wait for each other.
        for (const name of [...contendedNames].sort()) {
          const earlier = this.#queues.membersOf(name)
          releases.push(this.#queues.enter(name))
          if (earlier && !(await waitWithTimeout(earlier)))
            throw new ServiceError('TooManyRequests', { retryAfter: REQUEST_WAIT_TIMEOUT_MS / 1000 })
        }
      },
      release: (): void => {
        this.#stripesInUse.delete(stripe)
        for (const release of releases) release()
      },
    }
  }

  /** Waits until no transaction of this process holds the EHR exclusively, or until the timeout. */
  async waitUntilFree(ehrId: string): Promise<void> {
    const holders = this.#exclusiveLocks.membersOf(ehrId)
    if (holders) await waitWithTimeout(holders)
  }
}

/** First-in, first-out queues by name. */
class LockQueues {
  /** Resolves when all members of the queue have left. */
  readonly #members = new Map<string, Promise<void>>()

  /** Resolves when all present members have left; undefined for an empty queue. */
  membersOf(name: string): Promise<void> | undefined {
    return this.#members.get(name)
  }

  /** @returns a function that leaves the queue */
  enter(name: string): () => void {
    let leave = (): void => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const over: Promise<void> = Promise.all([this.#members.get(name), left]).then(() => {
      if (this.#members.get(name) === over) this.#members.delete(name)
    })
    this.#members.set(name, over)
    return leave
  }
}
