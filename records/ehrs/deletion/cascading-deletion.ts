import type { ClientSession, Collection } from 'mongodb'
import { canFitInTransaction } from '../../store/batching/transaction-batches.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentCollection, runTransaction } from '../../store/documents/database.ts'
import type { Job } from '../../store/documents/job.ts'
import { enqueueJob, type JobHandlers, jobCollection, jobId } from '../../store/jobs/background-jobs.ts'
import { lockExclusive } from '../../store/writing/ehr-locks.ts'
import { MAX_REQUEST_DURATION_MS } from '../../store/writing/removal/recent-removals.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'
import { changeInSteps, hiddenRecordsWith } from './hidden-records.ts'

/** The database, and the collections of each container. */
export type DatabaseWithContents = Pick<StoreContext, 'client' | 'db' | 'contents'>

/** Containers, and the fields in which other records name them. EHRs are deleted in another way. */
const CONTAINER_ID_FIELDS = {
  CarePlan: 'carePlanId',
  Goal: 'goalId',
  Task: 'taskId',
  Event: 'eventId',
} as const

export type ContainerClass = keyof typeof CONTAINER_ID_FIELDS

const CONTAINER_CLASSES = Object.keys(CONTAINER_ID_FIELDS) as ContainerClass[]

export const isContainerClass = (className: string): className is ContainerClass =>
  Object.hasOwn(CONTAINER_ID_FIELDS, className)

/** A deletion to be repeated once all requests from before it have ended: they may still write contents. */
interface PendingDeletion {
  _id: string
  className: ContainerClass
  objectId: string
  at: Date
  /** Time of the last sweep. */
  sweptAt?: Date
}

export const pendingDeletionsOf = (database: Database): Collection<PendingDeletion> =>
  database.db.collection<PendingDeletion>('Removal')

/** Maximum wait of a deletion for its job; the contents are hidden meanwhile. */
export const DELETION_WAIT_TIMEOUT_MS = 5000

/** Permissions of an object that Parse is about to delete: nobody reads it, the deleting user writes it. */
export const tombstonePermissions = ({ userId, unrestricted }: Caller) => ({
  _rperm: [],
  _wperm: unrestricted ? [] : [userId],
})

/** Ids of a record and its EHR. */
interface EhrRecordReference {
  id: string
  ehrId: string
}

const hiddenIn = (id: string) => hiddenRecordsWith(`removed-${id}:`)

/**
 * Hides the contents of a deleted container, so that they return with it; of a care plan it ends the access of
 * the participants. Contents too large for one transaction are hidden by a job.
 */
export async function hideContents(
  records: StoreContext,
  tx: Transaction,
  caller: Caller,
  className: ContainerClass,
  { id, ehrId }: EhrRecordReference,
): Promise<void> {
  const { session } = tx
  const field = CONTAINER_ID_FIELDS[className]
  const { visible, hide } = hiddenIn(id)
  if (className === 'CarePlan') await removeRoles(records, session, planRoles(id))
  const names = records.contents[className]
  if (!(await canFitInTransaction(records.db, names, { [field]: id }, session)))
    return enqueueJob(records, tx, caller, { job: 'remove', field, id, ehrId })
  for (const name of names) await hide(records.db, name, { [field]: id, ...visible }, session)
}

/** Shows the contents of a container that returns, in the same transaction or by a job. */
export async function showContents(
  records: StoreContext,
  tx: Transaction,
  caller: Caller,
  className: ContainerClass,
  { id, ehrId }: EhrRecordReference,
): Promise<void> {
  const { session } = tx
  const work = { job: 'return', field: CONTAINER_ID_FIELDS[className], id, ehrId } as const
  const { hidden, show } = hiddenIn(id)
  const { unfilteredDb } = records.jobs
  const names = records.contents[className]
  records.recentRemovals.forget(id)
  await pendingDeletionsOf(records).deleteOne({ _id: `${className}$${id}` }, { session })
  const isHiding = await jobCollection(records).findOne({ _id: jobId(work) }, { session })
  if (isHiding || !(await canFitInTransaction(unfilteredDb, names, { [work.field]: id }, session)))
    return enqueueJob(records, tx, caller, work)
  for (const name of names) await show(records.db, name, { [work.field]: id, ...hidden }, session)
}

export const waitForDeletion = (
  { jobs }: StoreContext,
  className: ContainerClass,
  id: string,
): Promise<boolean> =>
  jobs.waitUntilDone(jobId({ field: CONTAINER_ID_FIELDS[className], id }), DELETION_WAIT_TIMEOUT_MS)

/**
 * Hides the contents of a container, and the container itself: Parse Server deletes it next and needs an
 * existing object. If that fails, or a running request still writes contents, {@link
 * sweepPendingDeletions} finishes.
 */
export async function deleteBeforeParse(
  records: StoreContext,
  caller: Caller,
  className: ContainerClass,
  object: EhrRecordReference,
): Promise<void> {
  const { id, ehrId } = object
  await runStoreTransaction(records, async (tx) => {
    const { session } = tx
    tx.locks.contendFor(id)
    await documentCollection(records, className).updateOne(
      { _id: id },
      { $set: tombstonePermissions(caller) },
      { session },
    )
    await hideContents(records, tx, caller, className, object)
    const row = { _id: `${className}$${id}`, className, objectId: id, at: new Date() }
    await pendingDeletionsOf(records).replaceOne({ _id: row._id }, row, { session, upsert: true })
    await lockExclusive(records, tx, [ehrId])
  })
  await waitForDeletion(records, className, id)
}

/** The handlers of the jobs that hide and show the contents of containers. */
export function contentsVisibilityJobs({ contents }: Pick<DatabaseWithContents, 'contents'>): JobHandlers {
  const scopeOf = ({ field, id }: Job) => {
    const className = CONTAINER_CLASSES.find((one) => CONTAINER_ID_FIELDS[one] === field)
    return { collections: className ? contents[className] : [], which: { [field]: id } }
  }
  return {
    async remove(job, steps) {
      const { visible: still, hide: change } = hiddenIn(job.id)
      await changeInSteps(steps, { ...scopeOf(job), still, change })
      await steps.runLastStep()
    },
    async return(job, steps) {
      const { hidden: still, show: change } = hiddenIn(job.id)
      await changeInSteps(steps, { ...scopeOf(job), still, change })
      await steps.runLastStep()
    },
  }
}

/**
 * Deletes an object that was written into a deleted container; of a care plan also its roles and contents.
 */
export async function discardOrphan(
  database: DatabaseWithContents,
  className: string,
  objectId: string,
): Promise<void> {
  await runTransaction(database, async (session) => {
    if (className === 'CarePlan') {
      await removeRoles(database, session, planRoles(objectId))
      for (const name of database.contents.CarePlan)
        await documentCollection(database, name).deleteMany({ carePlanId: objectId }, { session })
    }
    await documentCollection(database, className).deleteOne({ _id: objectId }, { session })
  })
}

/**
 * Finishes deletions older than a minute: hides late writes, and deletes an object that Parse Server has left.
 * Runs on startup and every minute.
 */
export async function sweepPendingDeletions(database: DatabaseWithContents): Promise<void> {
  const before = new Date(Date.now() - MAX_REQUEST_DURATION_MS)
  for (const { _id, className, objectId } of await pendingDeletionsOf(database)
    .find({ at: { $lt: before } })
    .toArray()) {
    const { visible: still, hide: change } = hiddenIn(objectId)
    const which = { [CONTAINER_ID_FIELDS[className]]: objectId }
    // Touching the row conflicts with a return of the object.
    const runStep = (work: (tx: { session: ClientSession }) => Promise<unknown>) =>
      runTransaction(database, async (session) => {
        const pending = { _id, at: { $lt: before } }
        const touched = { $set: { sweptAt: new Date() } }
        const { matchedCount } = await pendingDeletionsOf(database).updateOne(pending, touched, { session })
        if (matchedCount > 0) await work({ session })
      })
    await changeInSteps(
      { unfilteredDb: database.db, runStep },
      { collections: database.contents[className], which, still, change },
    )
    await runStep(async ({ session }) => {
      if (className === 'CarePlan') await removeRoles(database, session, planRoles(objectId))
      await documentCollection(database, className).deleteOne({ _id: objectId }, { session })
      await pendingDeletionsOf(database).deleteOne({ _id }, { session })
    })
  }
}
