import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Collection, Db, IndexDescription } from 'mongodb'

/** The EHRs of an access, when there are too many for an entry each. */
interface AuditScope {
  _id: string
  ehrIds: string[]
  /** Accurate to the hour. */
  usedAt: Date
}

/** The scope of callers without access filter. */
export const EVERY_EHR = 'every-ehr'

const HOUR_MS = 3_600_000

export const auditScopeCollection = (db: Db): Collection<AuditScope> =>
  db.collection<AuditScope>('audit.scopes')

export const auditScopeIndexes: IndexDescription[] = [
  { key: { ehrIds: 1 }, name: 'ehrIds' },
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
    const update = { $set: { usedAt: clock() }, $setOnInsert: { ehrIds: ehrIds.toSorted() } }
    await auditScopeCollection(db).updateOne({ _id }, update, { upsert: true })
    savedIds.set(_id, true)
    return _id
  }
}

/** Finds the scopes that name one of these EHRs; accesses are stored under them, too. */
export async function findScopeIds(db: Db, ehrIds: readonly string[]): Promise<string[]> {
  const found = auditScopeCollection(db).find({ ehrIds: { $in: [...ehrIds] } }, { projection: { _id: 1 } })
  return (await found.toArray()).map(({ _id }) => _id)
}
