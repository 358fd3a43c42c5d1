import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Collection, Db, IndexDescription } from 'mongodb'
import { HOUR_MS } from '../../../schemas/time/durations.ts'

/** The EHRs of an access, when there are too many for an entry each. */
interface AuditScope {
  _id: string
  ehrIds: string[]
  /** Accurate to the hour. */
  usedAt: Date
  /** Earlier releases did not store it. */
  createdAt?: Date
}

/** The scope of callers without access filter. */
export const EVERY_EHR = 'every-ehr'

export const auditScopeCollection = (db: Db): Collection<AuditScope> =>
  db.collection<AuditScope>('audit.scopes')

export const auditScopeIndexes: IndexDescription[] = [
  { key: { ehrIds: 1, usedAt: -1 }, name: 'ehrIds_usedAt' },
  { key: { usedAt: 1 }, name: 'usedAt' },
]

/** The id of a scope is a hash of its EHRs, so that no set can be exchanged for another one. */
export const scopeIdOf = (ehrIds: readonly string[]): string =>
  `ehrs-${createHash('sha256').update(JSON.stringify(ehrIds.toSorted())).digest('base64url')}`

/** Creates a function that saves a set of EHRs, each set once, and returns its scope id. */
export function createScopeSaver(db: Db, clock: () => Date): (ehrIds: readonly string[]) => Promise<string> {
  const savedIds = new LRUCache<string, true>({ max: 10_000, ttl: HOUR_MS })
  return async (ehrIds) => {
    const _id = scopeIdOf(ehrIds)
    if (savedIds.has(_id)) return _id
    const usedAt = clock()
    const first = { ehrIds: ehrIds.toSorted(), createdAt: usedAt }
    const update = { $set: { usedAt }, $setOnInsert: first }
    await auditScopeCollection(db).updateOne({ _id }, update, { upsert: true })
    savedIds.set(_id, true)
    return _id
  }
}

/** Scopes per query of the entries. */
const SCOPES_PER_QUERY = 500

/** How much later than its `usedAt` a scope may have entries: an hour, and the clocks of instances differ. */
const MAX_USE_DELAY_MS = 1.5 * HOUR_MS

/** Scopes, and a time after which neither they nor the following ones have entries. */
interface ScopeBatch {
  ids: string[]
  usedUntil: Date
}

/**
 * Finds the scopes that name one of these EHRs, in batches, the last used ones first; accesses are stored under them, too.
 * @param period in which they have entries
 */
export async function* iterateScopes(
  db: Db,
  ehrIds: readonly string[],
  { from, until }: { from?: Date | undefined; until?: Date | undefined } = {},
): AsyncGenerator<ScopeBatch> {
  const shifted = (time: Date, ms: number) => new Date(time.getTime() + ms)
  const where = {
    ehrIds: { $in: [...ehrIds] },
    ...(from && { usedAt: { $gte: shifted(from, -MAX_USE_DELAY_MS) } }),
    ...(until && { createdAt: { $not: { $gt: shifted(until, MAX_USE_DELAY_MS) } } }),
  }
  const scopes = auditScopeCollection(db)
    .find(where, { projection: { usedAt: 1 }, batchSize: SCOPES_PER_QUERY })
    .sort({ usedAt: -1 })
  let ids: string[] = []
  let usedUntil = new Date(0)
  for await (const { _id, usedAt } of scopes) {
    ids.push(_id)
    usedUntil = shifted(usedAt, MAX_USE_DELAY_MS)
    if (ids.length < SCOPES_PER_QUERY) continue
    yield { ids, usedUntil }
    ids = []
  }
  if (ids.length > 0) yield { ids, usedUntil }
}
