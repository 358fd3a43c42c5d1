import type { LRUCache } from 'lru-cache'
import { type ClientSession, MongoError, MongoServerError } from 'mongodb'
import type { Admission } from '../../limits/admission/admission-control.ts'
import type { AuditedAccess, AuditLog } from '../audit/audit-log.ts'
import { type BulkWriteSupport, PendingWrites } from '../batching/pending-writes.ts'
import type { Caller } from '../documents/caller.ts'
import { type Database, isCommitInDoubt, runTransaction } from '../documents/database.ts'
import type { BackgroundJobs, Job } from '../documents/job.ts'
import type { PageQuery } from '../reading/pages.ts'
import type { EhrLocks, LockHolder } from './ehr-locks.ts'
import { addHistory, type HistoryEntry } from './history.ts'

export interface AuditedList {
  resource: { collection: string; ehr?: string }
  query: Pick<PageQuery<never>, 'where' | 'either'>
  asked: string
  items: readonly object[]
}

/** The shared services of all stores; created once on startup. */
export interface StoreContext extends Database {
  clock: () => Date
  audit: AuditLog
  /** The collections of the records in an EHR, and of the contents of a care plan, goal, task or event. */
  contents: Readonly<Record<'Ehr' | 'CarePlan' | 'Goal' | 'Task' | 'Event', readonly string[]>>
  jobs: BackgroundJobs
  ehrLocks: EhrLocks
  bulkWrites: BulkWriteSupport
  /** Short-lived cache of the modellers' definitions, keyed by collection and name. */
  definitions: LRUCache<string, object>
  /**
   * Creates the audit entries of a list, whose EHRs follow from the caller's rights.
   * @throws NotFound for an empty list of an EHR or a care plan that the caller may not read
   */
  accessesOfList(
    context: Pick<StoreContext, 'db' | 'audit'>,
    caller: Caller,
    list: AuditedList,
    tx: AuditedReads | undefined,
  ): Promise<AuditedAccess[]>
  /** Tells a user, if the account exists, that an EHR awaits their acceptance. */
  notifyOfPendingEhr(userId: string, session: ClientSession): Promise<void>
}

/** Reads that are audited together. */
export interface AuditedReads {
  session?: ClientSession
  accesses: AuditedAccess[]
}

/** A transaction that also writes the history and audit entries of its changes. */
export interface Transaction extends AuditedReads, LockHolder {
  session: ClientSession
  pending: PendingWrites
  changes: HistoryEntry[]
  /** Jobs that start after the commit. */
  queuedJobs: Job[]
}

interface TransactionOptions {
  /** false: a conflict or a transient outage ends it after one attempt. */
  retry?: boolean
  /** Resources of which it needs exclusive use, mostly EHRs: it queues for them before the first attempt. */
  queueFor?: readonly string[]
  /** The request that writes many records: it pauses for others afterwards, since a transaction must not. */
  admission?: Pick<Admission, 'pause'> | undefined
}

/** Time that a record of a large transaction takes the service and the database, with its history. */
const RECORD_WORK_MS = 0.2

/** Runs the reads of one response. They wait for the audit once, however many they are. */
export async function runAuditedReads<T>(
  context: StoreContext,
  work: (tx: AuditedReads) => Promise<T>,
): Promise<T> {
  const accesses: AuditedAccess[] = []
  try {
    return await work({ accesses })
  } finally {
    await context.audit.record(...accesses)
  }
}

/** Runs all writes of `work` in one transaction. After a write conflict, `work` runs again on the newer data. */
export async function runStoreTransaction<T>(
  context: StoreContext,
  work: (tx: Transaction) => Promise<T>,
  { retry = true, queueFor = [], admission }: TransactionOptions = {},
): Promise<T> {
  const audit = context.audit.joinTransaction()
  const locks = context.ehrLocks.beginTransaction()
  for (const ehrId of queueFor) locks.contendFor(ehrId)
  let queuedJobs: Job[] = []
  let changeCount = 0
  const attempt = async (session: ClientSession): Promise<T> => {
    queuedJobs = []
    await locks.queueAfterConflict()
    const transactionState = { changes: [], accesses: [], exclusiveEhrs: new Set<string>(), queuedJobs }
    const pending = new PendingWrites(context, session)
    const tx: Transaction = { session, locks, pending, ...transactionState }
    const result = await work(tx)
    changeCount = tx.changes.length
    await addHistory(context.db, tx.changes, pending)
    await audit.write(tx.accesses, pending)
    await pending.flush()
    return result
  }
  let result: T
  try {
    result = await runTransaction(context, attempt, retry)
    audit.settle('written')
    for (const work of queuedJobs) context.jobs.startJob(work)
  } catch (error) {
    audit.settle(isEndInDoubt(error) ? 'in doubt' : 'not written')
    throw error
  } finally {
    locks.release()
  }
  await admission?.pause(changeCount * RECORD_WORK_MS)
  return result
}

/** Ends a transaction that is only a dry run. */
class RolledBack extends Error {
  constructor() {
    super('Rolled back: dry run')
  }
}

/** Runs a transaction and rolls it back. @throws as the work does @returns the accesses that it would have audited */
export async function runAndRollBack(
  context: StoreContext,
  work: (tx: Transaction) => Promise<unknown>,
): Promise<AuditedAccess[]> {
  let accesses: AuditedAccess[] = []
  const dryRun = runStoreTransaction(context, async (tx) => {
    await work(tx)
    accesses = tx.accesses
    throw new RolledBack()
  })
  await dryRun.catch((error) => {
    if (!(error instanceof RolledBack)) throw error
  })
  return accesses
}

/** Runs `work` within a transaction, or in a new one if there is none. */
export const runWithin = <T>(
  context: StoreContext,
  tx: Transaction | undefined,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> => (tx ? work(tx) : runStoreTransaction(context, work))

/**
 * Whether the server may have committed a failed transaction, or may still hold it. It ends a transaction itself when it
 * refuses a command.
 */
const isEndInDoubt = (error: unknown): boolean =>
  error instanceof MongoError && (isCommitInDoubt(error) || !(error instanceof MongoServerError))
