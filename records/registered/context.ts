import { ServiceError } from '../../schemas/errors.ts'
import { isClosed } from '../care-plans/contents/rules.ts'
import { ehrPermissions } from '../ehrs/access.ts'
import { type Caller, isPermitted, type Permissions, permitted } from '../store/documents/caller.ts'
import { documentsOf } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { attemptOf } from '../store/resource.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { takeTurns } from '../store/writing/turns.ts'
import type { Into } from '../store/writing/writer.ts'
import { refuseViolations } from './judge.ts'

/** Where a goal or a task is registered. */
export interface Place {
  ehrId: string
  carePlanId: string
  /** Of a task. */
  goalId?: string
}

/** For what belongs to an EHR alone; the permissions of a new care plan are its own. */
export const inEhr = (
  ehrId: string,
  permissions = (subjectId: string) => ehrPermissions(ehrId, subjectId),
): Into => ({
  collection: 'Ehr',
  key: { _id: ehrId },
  ehrId,
  permissions: ({ subjectId }) => permissions(String(subjectId)),
})

/** For what is registered in a care plan, as long as that is open. */
export const inOpenPlan = ({ ehrId, carePlanId }: Place): Into => ({
  collection: 'CarePlan',
  key: { _id: carePlanId, ehrId },
  ehrId,
  permissions: ({ status, _rperm, _wperm }) => {
    if (status !== 'ACTIVE') refuseViolations([isClosed('CarePlan')])
    return { read: _rperm, write: _wperm }
  },
})

/** As {@link takeTurns}, for one EHR. */
export const takeTurn = (records: Records, tx: Transaction, ehrId: string): Promise<void> =>
  takeTurns(records, tx, [ehrId])

/** Replaces a plan or a goal: when that closes it, in its turn. */
export function replaceInTurn<T>(
  records: Records,
  ehrId: string,
  { status }: { status?: string | undefined },
  replace: (tx?: Transaction) => Promise<T>,
): Promise<T> {
  if (status === undefined || status === 'ACTIVE') return replace()
  return inTransaction(records, async (tx) => {
    const replaced = await replace(tx)
    await takeTurn(records, tx, ehrId)
    return replaced
  })
}

/**
 * The permissions of what is kept of a care plan, also of one that is closed.
 * @throws NotFound; Forbidden for one who may only read it
 */
export async function requireWritablePlan(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { ehrId, carePlanId }: Place,
): Promise<Permissions> {
  const plan = await writable(records, tx, caller, 'CarePlan', { _id: carePlanId, ehrId })
  return { read: plan._rperm, write: plan._wperm }
}

/**
 * The permissions of what is registered in a care plan, or in a goal of one.
 * @throws NotFound; Forbidden for one who may only read it; RuleViolated when it is closed
 */
export async function requireOpen(
  records: Records,
  tx: Transaction,
  caller: Caller,
  { ehrId, carePlanId, goalId }: Place,
): Promise<Permissions> {
  const plan = await writable(records, tx, caller, 'CarePlan', { _id: carePlanId, ehrId })
  const goal =
    goalId === undefined
      ? undefined
      : await writable(records, tx, caller, 'Goal', { _id: goalId, carePlanId, ehrId })
  if (plan.status !== 'ACTIVE') refuseViolations([isClosed('CarePlan')])
  if (goal && goal.status !== 'ACTIVE') refuseViolations([isClosed('Goal')])
  return { read: plan._rperm, write: plan._wperm }
}

async function writable(
  records: Records,
  { session }: Transaction,
  caller: Caller,
  className: 'CarePlan' | 'Goal',
  key: { _id: string; [field: string]: string },
): Promise<ParseDocument> {
  const found = await documentsOf(records, className).findOne(
    { ...key, ...permitted('_rperm', caller) },
    { session },
  )
  if (!found) throw new ServiceError('NotFound')
  if (!isPermitted(found._wperm, caller)) throw new ServiceError('Forbidden')
  return found as ParseDocument
}

/** Leaves an audit entry of a creation that was refused. */
export async function auditingRefusal<T>(
  records: Records,
  caller: Caller,
  collection: string,
  ehrId: string,
  create: () => Promise<T>,
): Promise<T> {
  try {
    return await create()
  } catch (error) {
    if (error instanceof ServiceError && error.error !== 'Conflict') {
      const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
      const what = { action: 'create', outcome } as const
      await records.audit.record(...attemptOf({ collection, ehr: 'ehrId' }, caller, what, { ehrId }))
    }
    throw error
  }
}
