import type { ClosedStatus } from '../ehr-records/closable-records.ts'
import { canFitInTransaction, iterateIdBatches } from '../store/batching/transaction-batches.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import { jobRequesterOf } from '../store/documents/job.ts'
import { enqueueJob, type JobHandler } from '../store/jobs/background-jobs.ts'
import type { StoreContext, Transaction } from '../store/writing/transaction.ts'
import type { PlanStores, StoredPlan } from './contents/plan-stores.ts'

const COLLECTIONS_CLOSED_WITH_PLAN = ['Goal', 'Task']

const openFilter = (carePlanId: string) => ({ carePlanId, status: 'ACTIVE' })

/** Whether the transaction that closes a plan can also close all its open goals and tasks. */
export const canCloseAtOnce = (
  context: StoreContext,
  { session }: Transaction,
  id: string,
): Promise<boolean> => canFitInTransaction(context.db, COLLECTIONS_CLOSED_WITH_PLAN, openFilter(id), session)

/**
 * Queues the job that closes a plan's open goals and tasks after the transaction that closes the plan has
 * been committed. Readers of the plan wait until the job has finished, so nobody sees the plan half closed.
 */
export async function startPlanClosing(
  context: StoreContext,
  tx: Transaction,
  caller: Caller,
  { id, ehrId }: StoredPlan,
  status: ClosedStatus,
): Promise<void> {
  const plan = await documentCollection(context, 'CarePlan').findOne({ _id: id }, { session: tx.session })
  const waiting = { readers: plan?._rperm ?? [], collections: ['CarePlan', ...COLLECTIONS_CLOSED_WITH_PLAN] }
  const details = { status }
  await enqueueJob(context, tx, caller, { job: 'close', field: 'carePlanId', id, ehrId, details, waiting })
}

/**
 * Closes the open goals and tasks of a closed plan. It leaves alone those that a user has closed meanwhile, and the tasks
 * of deleted goals, which nobody sees.
 */
export const createPlanClosingJob =
  (context: StoreContext, stores: PlanStores): JobHandler =>
  async ({ id, by, details }, { unfilteredDb: db, runStep, runLastStep }) => {
    const caller = { ...jobRequesterOf({ by }), roles: [], unrestricted: true } as const
    const { status } = details as { status: ClosedStatus }
    const goals = documentCollection({ db }, stores.goals.kind.collection)
    const existing = await goals.find({ carePlanId: id }, { projection: { _id: 1 } }).toArray()
    const inExistingGoals = { goalId: { $in: existing.map(({ _id }) => _id) } }
    for (const [store, filter] of [
      [stores.goals, {}],
      [stores.tasks, inExistingGoals],
    ] as const)
      for await (const ids of iterateIdBatches(documentCollection({ db }, store.kind.collection), {
        ...openFilter(id),
        ...filter,
      }))
        await runStep(async (tx) => {
          const still = { _id: { $in: ids }, status: 'ACTIVE' }
          const documents = documentCollection(context, store.kind.collection)
          const open = await documents.find(still, { session: tx.session, projection: { _id: 1 } }).toArray()
          const closing = open.map(({ _id }) => _id)
          await store.closeOpen(caller, closing, status, tx)
        })
    await runLastStep()
  }
