import type { Collection } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { type Caller, isPermitted, type Permissions, permitted } from '../caller.ts'
import { documentsOf } from '../database.ts'
import type { ParseDocument } from '../parse-format.ts'
import { attemptOf } from '../resource.ts'
import type { Records, Transaction } from '../transaction.ts'
import { refuseViolations } from './judge.ts'
import { isClosed } from './rules.ts'

/** Where a goal or a task is registered. */
export interface Place {
  ehrId: string
  carePlanId: string
  /** Of a task. */
  goalId?: string
}

/**
 * Puts what adds to a care plan, and what closes it, one after the other for each EHR: of those that meet, one goes on
 * and the others are repeated on what it left. So nothing new is in a plan that was closed at the same instant.
 */
export async function takeTurn(records: Records, { session }: Transaction, ehrId: string): Promise<void> {
  await turnsOf(records).updateOne({ _id: ehrId }, { $inc: { turns: 1 } }, { upsert: true, session })
}

/** A name that no Parse class can have: the class family never reaches it. */
export const turnsOf = ({ db }: Pick<Records, 'db'>): Collection<{ _id: string; turns: number }> =>
  db.collection('ehr.turns')

/** The subject of an EHR that takes a new care plan. @throws NotFound; Forbidden for one who may only read it */
export async function requireWritableEhr(
  records: Records,
  tx: Transaction,
  caller: Caller,
  ehrId: string,
): Promise<string> {
  return String((await writable(records, tx, caller, 'Ehr', { _id: ehrId })).subjectId)
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
  className: 'Ehr' | 'CarePlan' | 'Goal',
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
