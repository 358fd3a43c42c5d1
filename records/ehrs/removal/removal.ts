import type { ClientSession, Collection } from 'mongodb'
import { type Database, documentsOf, together } from '../../store/documents/database.ts'
import { LONGEST_REQUEST_MS } from '../../store/writing/recent-removals.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'

/** The database, and what is registered where in it. */
export type Held = Pick<Records, 'client' | 'db' | 'contents'>

/** What takes other objects with it when it is removed; an EHR does it in its own way. */
export type Container = 'CarePlan' | 'Goal'

export const isContainer = (className: string): className is Container =>
  className === 'CarePlan' || className === 'Goal'

/** A removal that is to be gone over once more, when no request that began before it can still be running. */
interface Removal {
  _id: string
  className: Container
  objectId: string
  at: Date
}

export const removals = (database: Database): Collection<Removal> =>
  database.db.collection<Removal>('Removal')

/**
 * Removes all that hangs on an EHR, a care plan or a goal, together or not at all, and leaves the object itself as
 * one that nobody sees: Parse's own delete, which follows, needs something to delete. Should that never
 * come, or should something be written into it by a request under way, {@link sweepRemovals} finishes.
 * @param callerId who deletes; nobody else may touch what is left; none when it is the service
 */
export async function removeWithAll(
  database: Held,
  className: Container,
  objectId: string,
  callerId: string | undefined,
): Promise<void> {
  await together(database, async (session) => {
    const left = { _rperm: [], _wperm: callerId === undefined ? [] : [callerId] }
    await documentsOf(database, className).updateOne({ _id: objectId }, { $set: left }, { session })
    await removeContents(database, session, className, objectId)
    const row = { _id: `${className}$${objectId}`, className, objectId, at: new Date() }
    await removals(database).replaceOne({ _id: row._id }, row, { session, upsert: true })
  })
}

/** Takes back what was written into something that is gone by now, a care plan with its roles. */
export async function takeBack(database: Held, className: string, objectId: string): Promise<void> {
  await together(database, async (session) => {
    if (className === 'CarePlan') await removeContents(database, session, className, objectId)
    await documentsOf(database, className).deleteOne({ _id: objectId }, { session })
  })
}

/** Finishes removals of more than a minute ago; to be called at start and every minute. */
export async function sweepRemovals(database: Held): Promise<void> {
  const before = new Date(Date.now() - LONGEST_REQUEST_MS)
  for (const { _id, className, objectId } of await removals(database)
    .find({ at: { $lt: before } })
    .toArray())
    await together(database, async (session) => {
      await removeContents(database, session, className, objectId)
      await documentsOf(database, className).deleteOne({ _id: objectId }, { session })
      await removals(database).deleteOne({ _id }, { session })
    })
}

/** Removes all that hangs on such a container, its roles too; the container itself stays. */
async function removeContents(
  database: Held,
  session: ClientSession,
  className: Container,
  objectId: string,
): Promise<void> {
  if (className === 'CarePlan') await removeRoles(database, session, planRoles(objectId))
  for (const name of database.contents[className])
    await documentsOf(database, name).deleteMany({ [NAMED_BY[className]]: objectId }, { session })
}

/** The property by which objects name what they are registered in. */
const NAMED_BY = { CarePlan: 'carePlanId', Goal: 'goalId' } as const
