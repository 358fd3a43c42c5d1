import type { Collection } from 'mongodb'
import { fits, idsInSteps, removeInSteps } from '../../store/batching/steps.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentsOf, together } from '../../store/documents/database.ts'
import { beginWork, type Jobs, workId } from '../../store/steps/under-way.ts'
import { LONGEST_REQUEST_MS } from '../../store/writing/removal/recent-removals.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { takeAlone } from '../../store/writing/turns.ts'
import { planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'

/** The database, and what is registered where in it. */
export type Held = Pick<Records, 'client' | 'db' | 'contents'>

/** What takes others with it when it is removed, and the property by which they name it; an EHR does it in its own way. */
const NAMED_BY = { CarePlan: 'carePlanId', Goal: 'goalId', Task: 'taskId', Event: 'eventId' } as const

export type Container = keyof typeof NAMED_BY

const CONTAINERS = Object.keys(NAMED_BY) as Container[]

export const isContainer = (className: string): className is Container => Object.hasOwn(NAMED_BY, className)

/** A removal that is to be gone over once more, when no request that began before it can still be running. */
interface Removal {
  _id: string
  className: Container
  objectId: string
  at: Date
}

export const removals = (database: Database): Collection<Removal> =>
  database.db.collection<Removal>('Removal')

/** For so long whoever removes something waits until the last of it is done; nobody sees it anyway. */
export const WAIT_MS = 5000

/** What is left of an object that Parse is to delete: whoever deletes it may touch it, and nobody sees it. */
export const leftFor = ({ userId, unrestricted }: Caller) => ({
  _rperm: [],
  _wperm: unrestricted ? [] : [userId],
})

/** Some object by its id. */
interface InEhr {
  id: string
  ehrId: string
}

/** Removes all that hangs on an object; what is too much for one transaction is hidden by it, and removed in steps. */
export async function removeContents(
  records: Records,
  tx: Transaction,
  caller: Caller,
  className: Container,
  { id, ehrId }: InEhr,
): Promise<void> {
  const { session } = tx
  const field = NAMED_BY[className]
  const names = records.contents[className]
  if (!(await fits(records.db, names, { [field]: id }, session)))
    await beginWork(records, tx, caller, { job: 'remove', field, id, ehrId })
  else for (const name of names) await documentsOf(records, name).deleteMany({ [field]: id }, { session })
}

export const untilRemoved = ({ underWay }: Records, className: Container, id: string): Promise<boolean> =>
  underWay.done(workId({ field: NAMED_BY[className], id }), WAIT_MS)

/**
 * Removes all that hangs on an object, and leaves the object itself as one that nobody sees: Parse's own delete, which
 * follows, needs something to delete. Should that never come, or should something be written into it by a request under
 * way, {@link sweepRemovals} finishes.
 */
export async function removeWithAll(
  records: Records,
  caller: Caller,
  className: Container,
  object: InEhr,
): Promise<void> {
  const { id, ehrId } = object
  await inTransaction(records, async (tx) => {
    const { session } = tx
    tx.turn.meet(id)
    await documentsOf(records, className).updateOne({ _id: id }, { $set: leftFor(caller) }, { session })
    if (className === 'CarePlan') await removeRoles(records, session, planRoles(id))
    await removeContents(records, tx, caller, className, object)
    const row = { _id: `${className}$${id}`, className, objectId: id, at: new Date() }
    await removals(records).replaceOne({ _id: row._id }, row, { session, upsert: true })
    await takeAlone(records, tx, [ehrId])
  })
  await untilRemoved(records, className, id)
}

/** What goes on after the transaction that began it. */
export function containerJobs({ contents }: Pick<Held, 'contents'>): Jobs {
  return {
    async remove({ field, id }, { db, one, last }) {
      const className = CONTAINERS.find((one) => NAMED_BY[one] === field)
      for (const name of className ? contents[className] : [])
        for await (const ids of idsInSteps(db, name, { [field]: id }))
          await one(({ session }) => documentsOf({ db }, name).deleteMany({ _id: { $in: ids } }, { session }))
      await last()
    },
  }
}

/** Takes back what was written into something that is gone by now, a care plan with its roles. */
export async function takeBack(database: Held, className: string, objectId: string): Promise<void> {
  await together(database, async (session) => {
    if (className === 'CarePlan') {
      await removeRoles(database, session, planRoles(objectId))
      for (const name of database.contents.CarePlan)
        await documentsOf(database, name).deleteMany({ carePlanId: objectId }, { session })
    }
    await documentsOf(database, className).deleteOne({ _id: objectId }, { session })
  })
}

/** Finishes removals of more than a minute ago; to be called at start and every minute. */
export async function sweepRemovals(database: Held): Promise<void> {
  const before = new Date(Date.now() - LONGEST_REQUEST_MS)
  for (const { _id, className, objectId } of await removals(database)
    .find({ at: { $lt: before } })
    .toArray()) {
    for (const name of database.contents[className])
      await removeInSteps(documentsOf(database, name), { [NAMED_BY[className]]: objectId })
    await together(database, async (session) => {
      if (className === 'CarePlan') await removeRoles(database, session, planRoles(objectId))
      await documentsOf(database, className).deleteOne({ _id: objectId }, { session })
      await removals(database).deleteOne({ _id }, { session })
    })
  }
}
