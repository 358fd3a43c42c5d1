import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Collection, Db, IndexDescription } from 'mongodb'

/** A set of EHRs that an entry is about, in the place of an EHR, when they are too many for an entry each. */
interface Scope {
  _id: string
  ehrIds: string[]
  /** Within the hour. */
  usedAt: Date
}

/** The scope of those whom no permission restricts. */
export const EVERY_EHR = 'every-ehr'

const HOUR_MS = 3_600_000

/** A name that no Parse class can have: the class family never reaches it. */
export const scopesOf = (db: Db): Collection<Scope> => db.collection<Scope>('audit.scopes')

export const scopeIndexes: IndexDescription[] = [
  { key: { ehrIds: 1 }, name: 'ehrIds' },
  { key: { usedAt: 1 }, name: 'usedAt' },
]

/** A scope's id says which EHRs it holds: that of another set is another. */
export const scopeId = (ehrIds: readonly string[]): string =>
  `ehrs-${createHash('sha256').update(JSON.stringify(ehrIds.toSorted())).digest('base64url')}`

/** Keeps sets of EHRs, each once however often it is asked through. @returns what gives a set its id */
export function scopeKeeper(db: Db, clock: () => Date): (ehrIds: readonly string[]) => Promise<string> {
  const kept = new LRUCache<string, true>({ max: 10_000, ttl: HOUR_MS })
  return async (ehrIds) => {
    const _id = scopeId(ehrIds)
    if (kept.has(_id)) return _id
    const update = { $set: { usedAt: clock() }, $setOnInsert: { ehrIds: ehrIds.toSorted() } }
    await scopesOf(db).updateOne({ _id }, update, { upsert: true })
    kept.set(_id, true)
    return _id
  }
}

/** Under what else an EHR's accesses are kept than under its own id. */
export async function scopesWith(db: Db, ehrIds: readonly string[]): Promise<string[]> {
  const found = scopesOf(db).find({ ehrIds: { $in: [...ehrIds] } }, { projection: { _id: 1 } })
  return [EVERY_EHR, ...(await found.toArray()).map(({ _id }) => _id)]
}
