import type { ClientSession } from 'mongodb'
import { PROFILE_COLLECTIONS } from '../profiles/storage/profile-collections.ts'
import { type Database, documentCollection } from '../store/documents/database.ts'

const handoversOf = (database: Pick<Database, 'db'>) =>
  documentCollection(database, PROFILE_COLLECTIONS.handover)

const inEffectAt = (now: Date) => ({ from: { $lte: now }, until: { $gt: now } })

/** The users who have taken over worklists now, by the owners of these. */
export async function findStandIns(
  database: Pick<Database, 'db'>,
  session: ClientSession,
  owners: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  if (owners.length === 0) return new Map()
  const handovers = handoversOf(database).find({ by: { $in: [...owners] }, ...inEffectAt(now) }, { session })
  return new Map((await handovers.toArray()).map(({ by, to }) => [String(by), String(to)]))
}

/** The owners of the worklists that a user has taken over now. */
export async function findOwnersStoodInFor(
  database: Pick<Database, 'db'>,
  userId: string,
  now: Date,
): Promise<string[]> {
  const handovers = handoversOf(database).find({ to: userId, ...inEffectAt(now) }, { projection: { by: 1 } })
  return (await handovers.toArray()).map(({ by }) => String(by))
}
