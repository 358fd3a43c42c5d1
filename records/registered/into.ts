import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import { createLookup } from '../store/batching/lookup.ts'
import { type Caller, isPermitted, type Permissions } from '../store/documents/caller.ts'
import { type Database, documentsOf } from '../store/documents/database.ts'
import type { ParseDocument } from '../store/documents/parse-format.ts'
import { withRules } from '../store/writing/companions.ts'
import { inTransaction, type Records, type Transaction } from '../store/writing/transaction.ts'
import { takeAlone } from '../store/writing/turns.ts'
import type { Into } from '../store/writing/writer.ts'
import type { ClassKind } from './kind.ts'
import { refuseViolations } from './refusals/refusals.ts'

/** What a record is registered in: an EHR, a care plan of it, a goal of that. */
export interface Place {
  ehrId: string
  carePlanId?: string | undefined
  goalId?: string | undefined
}

/** A place in a care plan. */
export interface PlanPlace extends Place {
  carePlanId: string
}

type Holder = 'Ehr' | 'CarePlan' | 'Goal'

/** Finds an EHR, a care plan or a goal by its id. */
export type FindHolder = (className: Holder, id: string) => Promise<ParseDocument | undefined>

/** Finds them as a transaction sees them. */
export const holdersIn =
  (database: Database, session: ClientSession): FindHolder =>
  async (className, _id) =>
    (await documentsOf(database, className).findOne({ _id }, { session })) ?? undefined

/** What of a holder must be known. */
const KNOWN = { ehrId: 1, carePlanId: 1, subjectId: 1, pending: 1, status: 1, _rperm: 1, _wperm: 1 } as const

/**
 * Finds them for requests that come at the same time with common queries.
 * @param rules the collection of what is said of care plans: a plan brings it along
 */
export function sharedHolders(database: Database, rules: string): FindHolder {
  const lookupOf = (className: Holder) =>
    createLookup<ParseDocument>(
      ({ _id }) => _id,
      (ids) =>
        documentsOf(database, className)
          .aggregate<ParseDocument>([
            { $match: { _id: { $in: ids } } },
            { $project: KNOWN },
            ...(className === 'CarePlan' ? [withRules({ rules })] : []),
          ])
          .toArray(),
    )
  const lookups = { Ehr: lookupOf('Ehr'), CarePlan: lookupOf('CarePlan'), Goal: lookupOf('Goal') }
  return (className, id) => lookups[className](id)
}

/** @throws NotFound; Forbidden for one who may only read it */
async function writable(
  find: FindHolder,
  caller: Caller,
  className: Holder,
  id: string,
  fits: { ehrId?: string | undefined; carePlanId?: string },
): Promise<ParseDocument> {
  const found = await find(className, id)
  const belongs = Object.entries(fits).every(
    ([name, value]) => value === undefined || found?.[name] === value,
  )
  if (!found || !belongs || !isPermitted(found._rperm, caller)) throw new ServiceError('NotFound')
  if (!isPermitted(found._wperm, caller)) throw new ServiceError('Forbidden')
  return found
}

/** Nothing is registered in what is closed. */
const isClosed = (container: 'care plan' | 'goal'): Violation => ({
  path: container === 'care plan' ? 'carePlanId' : 'goalId',
  code: 'closed',
  message: `names a ${container} that is closed`,
})

/**
 * Where a new record belongs and who may see it there; the EHR may be left out where a care plan tells it.
 * @param id of the new record
 * @throws NotFound; Forbidden for one who may only read there; RuleViolated when the plan or the goal is closed
 */
export async function placed(
  find: FindHolder,
  caller: Caller,
  kind: Pick<ClassKind, 'permissions'>,
  id: string,
  { ehrId, carePlanId, goalId }: { [K in keyof Place]?: Place[K] | undefined },
): Promise<{ ehrId: string; permissions: Permissions; holder: ParseDocument }> {
  if (carePlanId === undefined) {
    const ehr = await writable(find, caller, 'Ehr', ehrId ?? '', {})
    return { ehrId: ehr._id, permissions: kind.permissions(ehr, id), holder: ehr }
  }
  const plan = await writable(find, caller, 'CarePlan', carePlanId, { ehrId })
  const goal =
    goalId === undefined ? undefined : await writable(find, caller, 'Goal', goalId, { ehrId, carePlanId })
  if (plan.status !== 'ACTIVE') refuseViolations([isClosed('care plan')])
  if (goal && goal.status !== 'ACTIVE') refuseViolations([isClosed('goal')])
  return { ehrId: String(plan.ehrId), permissions: { read: plan._rperm, write: plan._wperm }, holder: plan }
}

/** The same for a store, which looks when it writes. What is in a goal takes a transaction of its own: {@link placed}. */
export const into = (kind: Pick<ClassKind, 'permissions'>, id: string, { ehrId, carePlanId }: Place): Into =>
  carePlanId === undefined
    ? {
        collection: 'Ehr',
        key: { _id: ehrId },
        ehrId,
        permissions: (ehr) => kind.permissions(ehr, id),
      }
    : intoPlan({ ehrId, carePlanId })

/** For what is registered in a care plan, as long as that is open. */
export const intoPlan = ({ ehrId, carePlanId }: PlanPlace): Into => ({
  collection: 'CarePlan',
  key: { _id: carePlanId, ehrId },
  ehrId,
  permissions: ({ status, _rperm, _wperm }) => {
    if (status !== 'ACTIVE') refuseViolations([isClosed('care plan')])
    return { read: _rperm, write: _wperm }
  },
})

/**
 * The permissions of what is kept of a care plan, also of one that is closed.
 * @throws NotFound; Forbidden for one who may only read it
 */
export async function requireWritablePlan(
  records: Records,
  { session }: Transaction,
  caller: Caller,
  { ehrId, carePlanId }: PlanPlace,
): Promise<Permissions> {
  const plan = await writable(holdersIn(records, session), caller, 'CarePlan', carePlanId, { ehrId })
  return { read: plan._rperm, write: plan._wperm }
}

/** As {@link takeAlone}, for one EHR. */
export const takeTurn = (records: Records, tx: Transaction, ehrId: string): Promise<void> =>
  takeAlone(records, tx, [ehrId])

/** Does what closes or removes something in an EHR, in its turn. */
export const inTurn = <T>(
  records: Records,
  ehrId: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> =>
  inTransaction(records, async (tx) => {
    const done = await work(tx)
    await takeTurn(records, tx, ehrId)
    return done
  })

/** Replaces a plan or a goal: when that closes it, in its turn. */
export const replaceInTurn = <T>(
  records: Records,
  ehrId: string,
  { status }: { status?: string | null | undefined },
  replace: (tx?: Transaction) => Promise<T>,
): Promise<T> =>
  status === undefined || status === null || status === 'ACTIVE' ? replace() : inTurn(records, ehrId, replace)
