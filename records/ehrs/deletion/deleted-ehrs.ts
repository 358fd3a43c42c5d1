import type { ClientSession, Collection } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { canFitInTransaction, deleteInBatches } from '../../store/batching/transaction-batches.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentCollection, runTransaction } from '../../store/documents/database.ts'
import { jobRequesterOf } from '../../store/documents/job.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import {
  enqueueJob,
  type JobHandler,
  type JobHandlers,
  jobCollection,
  jobId,
} from '../../store/jobs/background-jobs.ts'
import { runEach, throwErrors } from '../../store/jobs/due-records.ts'
import { decodeCursor, filterAfter } from '../../store/reading/cursor.ts'
import { createPage, type Page, type PageRequest } from '../../store/reading/pages.ts'
import { deleteEhrLocks, lockExclusive } from '../../store/writing/ehr-locks.ts'
import { deleteHistoryOfEhr, versionAfterDeletion } from '../../store/writing/history.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import { recordEhrCreation } from '../creation/ehr-creation.ts'
import { ehrRoles, isSystemId, planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'
import { type DatabaseWithContents, DELETION_WAIT_TIMEOUT_MS } from './cascading-deletion.ts'
import { changeInSteps, hiddenRecordsWith } from './hidden-records.ts'

/** A soft-deleted EHR, restorable for a while. */
export interface DeletedEhr {
  _id: string
  at: Date
  /** The EHR document before the deletion. */
  document: ParseDocument
  /** It was the EHR of its subject's account. */
  ofAccount: boolean
  /** A job is restoring the EHR. */
  returning?: true
}

/** Period in which an administrator can restore an EHR; a day later it is purged. */
const RESTORE_PERIOD_MS = 30 * DAY_MS

const hiddenRecords = hiddenRecordsWith('removed:')

export const deletedEhrsOf = ({ db }: Pick<StoreContext, 'db'>): Collection<DeletedEhr> =>
  db.collection<DeletedEhr>('ehr.removed')

/**
 * Hides all records of an EHR; the caller removes the EHR document in the same transaction. Too many records
 * for one transaction are hidden by a job, whose read filter applies immediately.
 */
export async function softDeleteEhrContents(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  { ehrId, subjectId }: { ehrId: string; subjectId: string },
): Promise<void> {
  const { session } = tx
  await lockExclusive(context, tx, [ehrId])
  const document = await documentCollection(context, 'Ehr').findOne({ _id: ehrId }, { session })
  if (!document) throw new ServiceError('NotFound')
  const account = await documentCollection(context, '_User').updateOne(
    { _id: subjectId, ehrId },
    { $unset: { ehrId: '' } },
    { session },
  )
  const deletedEhr = {
    at: context.clock(),
    document: document as ParseDocument,
    ofAccount: account.modifiedCount > 0,
  }
  await deletedEhrsOf(context).replaceOne({ _id: ehrId }, deletedEhr, { session, upsert: true })
  if (!(await canFitInTransaction(context.db, context.contents.Ehr, { ehrId }, session)))
    await enqueueJob(context, tx, caller, visibilityJobOf(ehrId, 'hide'))
  else
    for (const name of context.contents.Ehr)
      await hiddenRecords.hide(context.db, name, { ehrId, ...hiddenRecords.visible }, session)
}

const visibilityJobOf = (ehrId: string, job: 'hide' | 'show') =>
  ({ job, field: 'ehrId', id: ehrId, ehrId }) as const

export const waitUntilHidden = ({ jobs }: StoreContext, ehrId: string): Promise<boolean> =>
  jobs.waitUntilDone(jobId(visibilityJobOf(ehrId, 'hide')), DELETION_WAIT_TIMEOUT_MS)

const DELETED_EHR_LIST = 'deleted-ehrs'

const restorableSince = ({ clock }: Pick<StoreContext, 'clock'>) => ({
  $gt: new Date(clock().getTime() - RESTORE_PERIOD_MS),
})

/** The time after which nobody can restore the EHR. */
export const restorableUntil = ({ at }: Pick<DeletedEhr, 'at'>): Date =>
  new Date(at.getTime() + RESTORE_PERIOD_MS)

/** Lists the EHRs that can be restored, the last deleted one first. @throws MalformedRequest for a foreign cursor */
export async function listDeletedEhrs(
  context: StoreContext,
  { limit, cursor, count }: PageRequest,
): Promise<Page<DeletedEhr>> {
  const restorable = { at: restorableSince(context) }
  const after = cursor === undefined ? {} : filterAfter('at', -1, decodeCursor(DELETED_EHR_LIST, cursor))
  const deletedEhrs = deletedEhrsOf(context)
  const matches = await deletedEhrs
    .find({ $and: [restorable, after] })
    .sort({ at: -1, _id: -1 })
    .limit(limit + 1)
    .toArray()
  const total = count ? await deletedEhrs.countDocuments(restorable) : undefined
  return createPage(DELETED_EHR_LIST, matches, limit, ({ at, _id }) => ({ value: at, id: _id }), total)
}

/**
 * Restores an EHR. If that needs several transactions, all of it becomes visible with the last step.
 * @throws NotFound when it was not deleted, or too long ago
 */
export async function restoreDeletedEhr(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  ehrId: string,
): Promise<void> {
  const { session } = tx
  const restorable = { _id: ehrId, at: restorableSince(context) }
  const deletedEhr = await deletedEhrsOf(context).findOne(restorable, { session })
  if (!deletedEhr) throw new ServiceError('NotFound')
  if (deletedEhr.returning) return
  await requireOnlyEhrOfSystem(context, deletedEhr, session)
  const work = visibilityJobOf(ehrId, 'show')
  const free = !(await jobCollection(context).findOne({ _id: jobId(work) }, { session }))
  if (
    free &&
    (await canFitInTransaction(context.jobs.unfilteredDb, context.contents.Ehr, { ehrId }, session))
  ) {
    for (const name of context.contents.Ehr)
      await hiddenRecords.show(context.db, name, { ehrId, ...hiddenRecords.hidden }, session)
    return reinstateEhr(context, tx, caller, deletedEhr)
  }
  await deletedEhrsOf(context).updateOne({ _id: ehrId }, { $set: { returning: true } }, { session })
  await enqueueJob(context, tx, caller, work)
}

/** @throws Conflict when the connected system has created another EHR about the subject meanwhile */
async function requireOnlyEhrOfSystem(
  context: StoreContext,
  { document: { creatorId, subjectId } }: DeletedEhr,
  session: ClientSession,
): Promise<void> {
  if (!isSystemId(creatorId)) return
  const other = await documentCollection(context, 'Ehr').findOne({ creatorId, subjectId }, { session })
  if (other)
    throw new ServiceError('Conflict', { detail: 'The connected system has a newer EHR about this subject.' })
}

async function reinstateEhr(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  { _id: ehrId, document, ofAccount }: DeletedEhr,
): Promise<void> {
  const { session } = tx
  const now = context.clock()
  const version = versionAfterDeletion(document)
  await deletedEhrsOf(context).deleteOne({ _id: ehrId }, { session })
  const restoredEhr = { ...document, version, _updated_at: now }
  await documentCollection(context, 'Ehr').replaceOne({ _id: ehrId }, restoredEhr, { session, upsert: true })
  if (ofAccount) {
    const account = { _id: String(document.subjectId), ehrId: { $exists: false } }
    await documentCollection(context, '_User').updateOne(account, { $set: { ehrId } }, { session })
  }
  recordEhrCreation(tx, caller, ehrId, { version, at: now })
}

const hidingOf = ({ contents }: Pick<DatabaseWithContents, 'contents'>, ehrId: string) => ({
  collections: contents.Ehr,
  which: { ehrId },
  still: hiddenRecords.visible,
  change: hiddenRecords.hide,
})

/** The handlers of the jobs that hide and show an EHR's records. */
export function ehrVisibilityJobs(context: StoreContext): JobHandlers {
  const hide: JobHandler = async ({ ehrId }, steps) => {
    await changeInSteps(steps, hidingOf(context, ehrId))
    await steps.runLastStep()
  }
  const show: JobHandler = async ({ ehrId, by }, steps) => {
    const caller = { ...jobRequesterOf({ by }), roles: [], unrestricted: true } as const
    const { hidden: still, show: change } = hiddenRecords
    await changeInSteps(steps, { ...hidingOf(context, ehrId), still, change })
    await steps.runLastStep(async (tx) => {
      const deletedEhr = await deletedEhrsOf(context).findOne({ _id: ehrId }, { session: tx.session })
      if (deletedEhr) await reinstateEhr(context, tx, caller, deletedEhr)
    })
  }
  return { hide, show }
}

/**
 * Purges EHRs that were deleted long ago. Runs on startup and every minute.
 * @param beforePurge deletes what only refers to records of the EHR; runs again after an interruption
 * @throws AggregateError with the errors of those that failed, after all others
 */
export async function purgeDeletedEhrs(
  database: DatabaseWithContents,
  now: Date,
  beforePurge: (ehrId: string) => Promise<void>,
): Promise<void> {
  const old = { at: { $lt: new Date(now.getTime() - RESTORE_PERIOD_MS - DAY_MS) } }
  const deletedEhrs = await deletedEhrsOf(database)
    .find(old, { projection: { _id: 1 } })
    .toArray()
  const ids = deletedEhrs.map(({ _id }) => _id)
  const purge = async (id: string) => {
    await beforePurge(id)
    await purgeEhr(database, id)
  }
  throwErrors(await runEach(ids, purge), 'Some deleted EHRs could not be purged.')
}

/**
 * Deletes an EHR for good. An interrupted purge runs again, so plans go after their contents and the deletion
 * document goes last.
 */
async function purgeEhr(database: DatabaseWithContents, ehrId: string): Promise<void> {
  await deleteHistoryOfEhr(database.db, ehrId)
  for (const name of database.contents.Ehr)
    if (name !== 'CarePlan') await deleteInBatches(documentCollection(database, name), { ehrId })
  const plans = documentCollection(database, 'CarePlan')
  await deleteInBatches(plans, { ehrId }, (ids) =>
    runTransaction(database, async (session) => {
      await removeRoles(database, session, ids.flatMap(planRoles))
      await plans.deleteMany({ _id: { $in: ids } }, { session })
    }),
  )
  await runTransaction(database, (session) => removeRoles(database, session, ehrRoles(ehrId)))
  await documentCollection(database, 'Ehr').deleteOne({ _id: ehrId, _rperm: [] })
  await deleteEhrLocks(database, ehrId)
  await deletedEhrsOf(database).deleteOne({ _id: ehrId })
}
