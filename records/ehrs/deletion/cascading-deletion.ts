import { canFitInTransaction } from '../../store/batching/transaction-batches.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Job } from '../../store/documents/job.ts'
import { enqueueJob, type JobHandlers, jobCollection, jobId } from '../../store/jobs/background-jobs.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import { planRoles } from '../rights/access.ts'
import { removeRoles } from '../rights/roles.ts'
import { changeInSteps, hiddenRecordsWith } from './hidden-records.ts'

/** The database, and the collections of each container. */
export type DatabaseWithContents = Pick<StoreContext, 'client' | 'db' | 'contents'>

/** Containers, and the fields in which other records name them. EHRs are deleted in another way. */
export const CONTAINER_ID_FIELDS = {
  CarePlan: 'carePlanId',
  Goal: 'goalId',
  Task: 'taskId',
  Event: 'eventId',
} as const

export type ContainerClass = keyof typeof CONTAINER_ID_FIELDS

/** The outermost first. */
export const CONTAINER_CLASSES = Object.keys(CONTAINER_ID_FIELDS) as ContainerClass[]

export const isContainerClass = (className: string): className is ContainerClass =>
  Object.hasOwn(CONTAINER_ID_FIELDS, className)

/** Maximum wait of a deletion for its job; the contents are hidden meanwhile. */
export const DELETION_WAIT_TIMEOUT_MS = 5000

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
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  className: ContainerClass,
  { id, ehrId }: EhrRecordReference,
): Promise<void> {
  const { session } = tx
  const field = CONTAINER_ID_FIELDS[className]
  const { visible, hide } = hiddenIn(id)
  if (className === 'CarePlan') await removeRoles(context, session, planRoles(id))
  const names = context.contents[className]
  if (!(await canFitInTransaction(context.db, names, { [field]: id }, session)))
    return enqueueJob(context, tx, caller, { job: 'remove', field, id, ehrId })
  for (const name of names) await hide(context.db, name, { [field]: id, ...visible }, session)
}

/** Shows the contents of a container that returns, in the same transaction or by a job. */
export async function showContents(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  className: ContainerClass,
  { id, ehrId }: EhrRecordReference,
): Promise<void> {
  const { session } = tx
  const work = { job: 'return', field: CONTAINER_ID_FIELDS[className], id, ehrId } as const
  const { hidden, show } = hiddenIn(id)
  const { unfilteredDb } = context.jobs
  const names = context.contents[className]
  const isHiding = await jobCollection(context).findOne({ _id: jobId(work) }, { session })
  if (isHiding || !(await canFitInTransaction(unfilteredDb, names, { [work.field]: id }, session)))
    return enqueueJob(context, tx, caller, work)
  for (const name of names) await show(context.db, name, { [work.field]: id, ...hidden }, session)
}

export const waitForDeletion = (
  { jobs }: StoreContext,
  className: ContainerClass,
  id: string,
): Promise<boolean> =>
  jobs.waitUntilDone(jobId({ field: CONTAINER_ID_FIELDS[className], id }), DELETION_WAIT_TIMEOUT_MS)

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
