import type { Collection } from 'mongodb'
import {
  canFitInTransaction,
  deleteInBatches,
  iterateIdBatches,
} from '../../store/batching/transaction-batches.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { type Database, documentCollection, runTransaction } from '../../store/documents/database.ts'
import { enqueueJob, type JobHandlers, jobId } from '../../store/jobs/background-jobs.ts'
import { lockExclusive } from '../../store/writing/ehr-locks.ts'
import { MAX_REQUEST_DURATION_MS } from '../../store/writing/removal/recent-removals.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'

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

/**
 * Deletes the contents of a container. Contents too large for one transaction are hidden and deleted by a
 * job.
 */
export async function deleteContents(
  records: StoreContext,
  tx: Transaction,
  caller: Caller,
  className: ContainerClass,
  { id, ehrId }: EhrRecordReference,
): Promise<void> {
  const { session } = tx
  const field = CONTAINER_ID_FIELDS[className]
  const names = records.contents[className]
  if (!(await canFitInTransaction(records.db, names, { [field]: id }, session)))
    await enqueueJob(records, tx, caller, { job: 'remove', field, id, ehrId })
  else
    for (const name of names) await documentCollection(records, name).deleteMany({ [field]: id }, { session })
}

export const waitForDeletion = (
  { jobs }: StoreContext,
  className: ContainerClass,
  id: string,
): Promise<boolean> =>
  jobs.waitUntilDone(jobId({ field: CONTAINER_ID_FIELDS[className], id }), DELETION_WAIT_TIMEOUT_MS)

/**
 * Deletes the contents of a container, and hides the container itself: Parse Server deletes it next and needs
 * an existing object. If that fails, or a running request still writes contents, {@link
 * sweepPendingDeletions} finishes.
 */
export async function deleteWithContents(
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
    if (className === 'CarePlan') await removeRoles(records, session, planRoles(id))
    await deleteContents(records, tx, caller, className, object)
    const row = { _id: `${className}$${id}`, className, objectId: id, at: new Date() }
    await pendingDeletionsOf(records).replaceOne({ _id: row._id }, row, { session, upsert: true })
    await lockExclusive(records, tx, [ehrId])
  })
  await waitForDeletion(records, className, id)
}

/** The handlers of the deletion jobs. */
export function contentsDeletionJobs({ contents }: Pick<DatabaseWithContents, 'contents'>): JobHandlers {
  return {
    async remove({ field, id }, { unfilteredDb: db, runStep, runLastStep }) {
      const className = CONTAINER_CLASSES.find((one) => CONTAINER_ID_FIELDS[one] === field)
      for (const name of className ? contents[className] : [])
        for await (const ids of iterateIdBatches(db, name, { [field]: id }))
          await runStep(({ session }) =>
            documentCollection({ db }, name).deleteMany({ _id: { $in: ids } }, { session }),
          )
      await runLastStep()
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

/** Finishes deletions older than a minute. Runs on startup and every minute. */
export async function sweepPendingDeletions(database: DatabaseWithContents): Promise<void> {
  const before = new Date(Date.now() - MAX_REQUEST_DURATION_MS)
  for (const { _id, className, objectId } of await pendingDeletionsOf(database)
    .find({ at: { $lt: before } })
    .toArray()) {
    for (const name of database.contents[className])
      await deleteInBatches(documentCollection(database, name), {
        [CONTAINER_ID_FIELDS[className]]: objectId,
      })
    await runTransaction(database, async (session) => {
      if (className === 'CarePlan') await removeRoles(database, session, planRoles(objectId))
      await documentCollection(database, className).deleteOne({ _id: objectId }, { session })
      await pendingDeletionsOf(database).deleteOne({ _id }, { session })
    })
  }
}
