import type { ClosingStatus } from '../registered/closable.ts'
import { fits, idsInSteps } from '../store/batching/steps.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import { beginWork, type Job } from '../store/steps/under-way.ts'
import type { Records, Transaction } from '../store/writing/transaction.ts'
import type { PlanRecords, StoredPlan } from './contents/stores.ts'

/** What closes with a plan. */
const COLLECTIONS = ['Goal', 'Task']

const openIn = (carePlanId: string) => ({ carePlanId, status: 'ACTIVE' })

/** Whether all that is open in a plan can be closed in the transaction that closes the plan. */
export const closesAtOnce = (records: Records, { session }: Transaction, id: string): Promise<boolean> =>
  fits(records.db, COLLECTIONS, openIn(id), session)

/**
 * Has all that is open in a plan closed in steps, once the transaction that closes the plan has been committed. Whoever
 * may read the plan waits until the last one is done: nobody sees it half closed.
 */
export async function closeInSteps(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { id, ehrId }: StoredPlan,
  status: ClosingStatus,
): Promise<void> {
  const plan = await documentsOf(records, 'CarePlan').findOne({ _id: id }, { session: tx.session })
  const waiting = { readers: plan?._rperm ?? [], collections: ['CarePlan', ...COLLECTIONS] }
  const details = { status }
  await beginWork(records, tx, caller, { job: 'close', field: 'carePlanId', id, ehrId, details, waiting })
}

/** Closes what is open in a plan that has been closed. What somebody closes meanwhile is left as they did. */
export const closingJob =
  (records: Records, of: PlanRecords): Job =>
  async ({ id, by, details }, { db, one, last }) => {
    const caller = { ...by, roles: [], unrestricted: true } as const
    const { status } = details as { status: ClosingStatus }
    for (const members of [of.goals, of.tasks])
      for await (const ids of idsInSteps(db, members.kind.collection, openIn(id)))
        await one(async (tx) => {
          const still = { _id: { $in: ids }, status: 'ACTIVE' }
          const documents = documentsOf(records, members.kind.collection)
          const open = await documents.find(still, { session: tx.session, projection: { _id: 1 } }).toArray()
          const closing = open.map(({ _id }) => _id)
          await members.closeOpen(caller, closing, status, tx)
        })
    await last()
  }
