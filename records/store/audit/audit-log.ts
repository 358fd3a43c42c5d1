import { setImmediate } from 'node:timers/promises'
import type { Collection, Db, Filter, IndexDescription } from 'mongodb'
import { createBatcher } from '../batching/micro-batcher.ts'
import type { PendingWrites } from '../batching/pending-writes.ts'
import { startPeriodicTask } from '../batching/periodic-task.ts'
import { decodeCursor, filterAfter } from '../reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../reading/pages.ts'
import { type AuditEntry, type AuditedAccess, mergeAccesses } from './chains/chain.ts'
import { type AuditChain, type ChainPool, createChainPool } from './chains/chain-pool.ts'
import { decodeAuditEntry, encodeAuditEntry, type StoredAuditEntry } from './chains/entry-format.ts'
import { registerInstance, signHeads } from './chains/instances.ts'
import { auditScopeIndexes, createScopeSaver, EVERY_EHR, iterateScopes } from './scopes.ts'

export type { AuditEntry, AuditedAccess } from './chains/chain.ts'

export interface AuditLog {
  /**
   * Writes accesses in common commands with those of other requests. Accesses of one request to the same EHR
   * and kind become one entry. Resolves when they are on disk.
   */
  record(...accesses: AuditedAccess[]): Promise<void>
  /** Saves a set of EHRs. @returns the scope id, which entries use in place of an EHR id */
  saveScope(ehrIds: readonly string[]): Promise<string>
  /** Starts the audit of a transaction. */
  joinTransaction(): TransactionAudit
  /** Waits for running writes and signs the last chain heads. */
  close(): Promise<void>
}

interface TransactionAudit {
  /** Adds entries to the writes of the transaction. Called once per attempt, last. */
  write(accesses: AuditedAccess[], pending: PendingWrites): Promise<void>
  /** Called once after the end of the transaction. */
  settle(outcome: 'written' | 'not written' | 'in doubt'): void
}

export interface AuditOptions {
  db: Db
  /** Key of the MACs; its holder can verify the chains and also forge them. */
  key: string
  clock: () => Date
  /** Called when signing the heads fails: the database is unreachable, or the registry record is missing. */
  onFault: (fault: unknown) => void
}

/** Runs CPU work while accesses are written to disk, and waits for both. */
export async function runWhileRecording<T>(recording: Promise<void>, work: () => T | Promise<T>): Promise<T> {
  // The next turn of the event loop starts after the command has been sent.
  const [result] = await Promise.all([setImmediate().then(work), recording])
  return result
}

export const auditEntryCollection = (db: Db): Collection<StoredAuditEntry> =>
  db.collection<StoredAuditEntry>('audit.entries')

export const auditIndexes: Record<string, IndexDescription[]> = {
  'audit.entries': [{ key: { ehrId: 1, at: -1, _id: -1 }, name: 'ehrId_at' }],
  'audit.scopes': auditScopeIndexes,
}

const SIGN_INTERVAL_MS = 1000
/** Requests per command. */
const MAX_BATCH_SIZE = 500

/** Opens the audit for this run of the service. @see docs/decisions/audit-chain.md */
export async function openAuditLog(options: AuditOptions): Promise<AuditLog> {
  const { db, key, clock } = options
  const entries = auditEntryCollection(db)
  const instance = await registerInstance(db, key, clock())
  const chains = createChainPool(instance, key)
  const groups = createBatcher<AuditedAccess[]>(MAX_BATCH_SIZE, async (requests) => {
    const chain = await chains.acquire()
    try {
      await insertEntries(entries, chain.link(requests.flat(), clock()).map(encodeAuditEntry))
      chains.release(chain, 'written')
      return []
    } catch (error) {
      chains.release(chain, 'in doubt')
      throw error
    }
  })
  const signing = startSigning(options, instance, chains)
  return {
    record: async (...accesses) => {
      if (accesses.length > 0) await groups.add(mergeAccesses(accesses))
    },
    saveScope: createScopeSaver(db, clock),
    joinTransaction() {
      let chain: AuditChain | undefined
      return {
        async write(accesses, pending) {
          if (accesses.length === 0) {
            // An earlier attempt may have linked entries.
            if (chain) chains.release(chain, 'not written')
            chain = undefined
            return
          }
          chain ??= await chains.acquire()
          const auditEntries = chain.link(mergeAccesses(accesses), clock())
          pending.insert(entries, auditEntries.map(encodeAuditEntry))
        },
        settle(outcome) {
          if (chain) chains.release(chain, outcome)
        },
      }
    },
    async close() {
      await groups.waitUntilIdle()
      await signing.end()
    },
  }
}

/** The driver takes a third less time for one entry without a bulk write. */
async function insertEntries(
  entries: Collection<StoredAuditEntry>,
  [first, ...others]: StoredAuditEntry[],
): Promise<void> {
  if (first && others.length === 0) await entries.insertOne(first)
  else if (first) await entries.insertMany([first, ...others])
}

/** Signs changed heads once a second, and all of them at the end. */
function startSigning({ db, key, clock, onFault }: AuditOptions, instance: number, chains: ChainPool) {
  let signedCount = 0
  const sign = async (): Promise<void> => {
    const heads = chains.heads()
    const count = heads.reduce((sum, { sequence }) => sum + sequence, 0)
    if (count === signedCount) return
    await signHeads(db, key, { _id: instance, heads, headsAt: clock() })
    signedCount = count
  }
  const loop = startPeriodicTask(SIGN_INTERVAL_MS, sign, onFault)
  return {
    async end() {
      await loop.stop()
      await signHeads(db, key, { _id: instance, heads: chains.heads(), headsAt: clock(), endedAt: clock() })
    },
  }
}

/** Timeout of audit queries. */
export const AUDIT_QUERY_TIMEOUT_MS = 15_000
const AUDIT_QUERY_OPTIONS = { maxTimeMS: AUDIT_QUERY_TIMEOUT_MS }

/** Which accesses to list. */
export interface AccessFilter {
  /** Only accesses at this time or later. */
  from?: string | undefined
  /** Without the accesses of this user. */
  except?: string | undefined
}

/**
 * Lists the accesses to an EHR's data, newest first, for its subject. Queries over many EHRs are included, those
 * over every EHR since its creation.
 * @throws MalformedRequest for a foreign cursor
 */
export async function listAccesses(
  db: Db,
  { ehrId, createdAt = new Date(0) }: { ehrId: string; createdAt?: Date | undefined },
  page: PageRequest,
  { from, except }: AccessFilter = {},
): Promise<Page<AuditEntry>> {
  const entries = auditEntryCollection(db)
  const position = page.cursor === undefined ? undefined : decodeCursor('audit', page.cursor)
  const after = position ? filterAfter('at', -1, position) : {}
  const accessFilter = {
    ...(from !== undefined && { at: { $gte: new Date(from) } }),
    ...(except !== undefined && { userId: { $ne: except } }),
  }
  const findPage = (where: Filter<StoredAuditEntry>) =>
    entries
      .find({ $and: [where, accessFilter, after] }, AUDIT_QUERY_OPTIONS)
      .sort({ at: -1, _id: -1 })
      .limit(page.limit + 1)
      .toArray()
  const unscoped = unscopedFilters([ehrId], createdAt)
  let accesses = (await Promise.all(unscoped.map(findPage))).flat().map(toAuditEntry).sort(compareNewestFirst)
  const start = from === undefined ? undefined : new Date(from)
  const until = position?.value instanceof Date ? position.value : undefined
  for await (const { ids, usedUntil } of iterateScopes(db, [ehrId], { from: start, until })) {
    const more = (await findPage({ ehrId: { $in: ids } })).map(toAuditEntry)
    accesses = [...accesses, ...more].sort(compareNewestFirst).slice(0, page.limit + 1)
    const next = accesses[page.limit]
    if (next && next.at > usedUntil) break
  }
  const count = (where: Filter<StoredAuditEntry>) =>
    entries.countDocuments({ $and: [where, accessFilter] }, AUDIT_QUERY_OPTIONS)
  const total = page.count ? await sumOverAccesses(db, [ehrId], createdAt, count) : undefined
  return createPage('audit', accesses, page.limit, ({ at, _id }) => ({ value: at, id: _id }), total)
}

/** Selects the accesses to the data of EHRs that are stored under no scope. */
const unscopedFilters = (ehrIds: readonly string[], createdAt: Date): Filter<StoredAuditEntry>[] => [
  { ehrId: { $in: [...ehrIds] } },
  { ehrId: EVERY_EHR, at: { $gte: createdAt } },
]

/**
 * Selects the accesses to the data of EHRs, by several filters.
 * @param createdAt of the oldest EHR: an earlier query over every EHR was not about them
 */
export async function* iterateAccessFilters(
  db: Db,
  ehrIds: readonly string[],
  createdAt: Date,
): AsyncGenerator<Filter<StoredAuditEntry>> {
  yield* unscopedFilters(ehrIds, createdAt)
  for await (const { ids } of iterateScopes(db, ehrIds)) yield { ehrId: { $in: ids } }
}

async function sumOverAccesses(
  db: Db,
  ehrIds: readonly string[],
  createdAt: Date,
  count: (where: Filter<StoredAuditEntry>) => Promise<number>,
): Promise<number> {
  let sum = 0
  for await (const where of iterateAccessFilters(db, ehrIds, createdAt)) sum += await count(where)
  return sum
}

/** An audit entry as it is listed. */
export const toAuditEntry = (stored: StoredAuditEntry): AuditEntry =>
  withKnownOutcome(decodeAuditEntry(stored))

/** Until version 0.2.0, writes of the class family had an outcome of their own. */
const withKnownOutcome = (entry: AuditEntry): AuditEntry =>
  ['denied', 'refused'].includes(entry.outcome) ? entry : { ...entry, outcome: 'done' }

const compareNewestFirst = (a: AuditEntry, b: AuditEntry): number =>
  b.at.getTime() - a.at.getTime() || (a._id < b._id ? 1 : -1)
