import { LRUCache } from 'lru-cache'
import type { ClientSession } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import { createBatchedLookup } from '../../store/batching/batched-lookup.ts'
import { type Caller, isPermitted, type Permissions } from '../../store/documents/caller.ts'
import { canRead, type Database, documentCollection } from '../../store/documents/database.ts'
import { fromStoredPermissions, type ParseDocument } from '../../store/documents/parse-format.ts'
import type { RecordParent } from '../../store/writing/batch-writer.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import type { ClassKind } from '../kind.ts'
import { closedParentViolations } from '../refusals/closed-records.ts'
import { requireNoViolations } from '../refusals/refusals.ts'

/** The parents of a record: an EHR, optionally one of its care plans and a goal of that plan. */
export interface ParentIds {
  ehrId: string
  carePlanId?: string | undefined
  goalId?: string | undefined
}

/** The parents of a record within a care plan. */
export interface PlanParentIds extends ParentIds {
  carePlanId: string
}

type ParentClass = 'Ehr' | 'CarePlan' | 'Goal'

/** Finds a parent by its id. */
export type FindParent = (className: ParentClass, id: string) => Promise<ParseDocument | undefined>

/** Finds parents within a transaction. */
export const parentFinderIn =
  (database: Database, session: ClientSession): FindParent =>
  async (className, _id) =>
    (await documentCollection(database, className).findOne({ _id }, { session })) ?? undefined

/** Finds the EHR of a care plan, whoever may read it. */
export type FindEhrId = (carePlanId: string) => Promise<string | undefined>

/** Finds the EHRs of care plans; concurrent requests share queries. */
export function batchedEhrFinder(database: Database): FindEhrId {
  const plans = documentCollection(database, 'CarePlan')
  const lookup = createBatchedLookup((ids) =>
    plans.find({ _id: { $in: ids } }, { projection: { ehrId: 1 } }).toArray(),
  )
  return async (carePlanId) => (await lookup(carePlanId))?.ehrId as string | undefined
}

const MAX_KNOWN_PLANS = 10_000

/** Remembers the EHRs that it has found, which the service never changes. */
export function cachedEhrFinder(database: Database): FindEhrId {
  const find = batchedEhrFinder(database)
  const cache = new LRUCache<string, string>({ max: MAX_KNOWN_PLANS })
  return async (carePlanId) => {
    const ehrId = cache.get(carePlanId) ?? (await find(carePlanId))
    if (ehrId !== undefined) cache.set(carePlanId, ehrId)
    return ehrId
  }
}

/** Checks, before an entry in the audit, that the caller may read an EHR. @throws NotFound */
export async function requireReadableEhr(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
): Promise<void> {
  if (!(await canRead(database, caller, 'Ehr', { _id: ehrId }))) throw new ServiceError('NotFound')
  caller.onAccess?.(ehrId)
}

/** Finds a parent that the caller may write. @throws NotFound; Forbidden without write access */
async function requireWritableParent(
  find: FindParent,
  caller: Caller,
  className: ParentClass,
  id: string,
  fits: { ehrId?: string | undefined; carePlanId?: string },
): Promise<ParseDocument> {
  const parent = await find(className, id)
  const belongs = Object.entries(fits).every(
    ([name, value]) => value === undefined || parent?.[name] === value,
  )
  if (!parent || !belongs || !isPermitted(parent._rperm, caller)) throw new ServiceError('NotFound')
  if (!isPermitted(parent._wperm, caller)) throw new ServiceError('Forbidden')
  return parent
}

/**
 * Finds the parent and the permissions of a new record. The EHR id is optional when a care plan is given.
 * @param id id of the new record
 * @throws NotFound; Forbidden without write access; RuleViolated when the plan or the goal is closed
 */
export async function resolveParent(
  find: FindParent,
  caller: Caller,
  kind: Pick<ClassKind, 'permissions'>,
  id: string,
  { ehrId, carePlanId, goalId }: { [K in keyof ParentIds]?: ParentIds[K] | undefined },
): Promise<{ ehrId: string; permissions: Permissions; parent: ParseDocument }> {
  if (carePlanId === undefined) {
    const ehr = await requireWritableParent(find, caller, 'Ehr', ehrId ?? '', {})
    return { ehrId: ehr._id, permissions: kind.permissions(ehr, id), parent: ehr }
  }
  const plan = await requireWritableParent(find, caller, 'CarePlan', carePlanId, { ehrId })
  const goal =
    goalId === undefined
      ? undefined
      : await requireWritableParent(find, caller, 'Goal', goalId, { ehrId, carePlanId })
  requireNoViolations(closedParentViolations({ carePlanId: plan, goalId: goal }))
  return { ehrId: String(plan.ehrId), permissions: fromStoredPermissions(plan), parent: plan }
}

/**
 * The parent for a store, which checks it within the write. Records in goals need {@link resolveParent} and a
 * transaction of their own.
 */
export const insertTargetFor = (
  kind: Pick<ClassKind, 'permissions'>,
  id: string,
  { ehrId, carePlanId }: ParentIds,
): RecordParent =>
  carePlanId === undefined
    ? {
        collection: 'Ehr',
        key: { _id: ehrId },
        ehrId,
        permissions: (ehr) => kind.permissions(ehr, id),
      }
    : planInsertTarget({ ehrId, carePlanId })

/** The parent of records in a care plan; a closed plan is refused. */
export const planInsertTarget = ({ ehrId, carePlanId }: PlanParentIds): RecordParent => ({
  collection: 'CarePlan',
  key: { _id: carePlanId, ehrId },
  ehrId,
  permissions: (plan) => {
    requireNoViolations(closedParentViolations({ carePlanId: plan }))
    return fromStoredPermissions(plan)
  },
})

/** The parent of a record that returns: also a closed plan, since the record was there before. */
export function returnTargetFor(
  kind: Pick<ClassKind, 'permissions'>,
  id: string,
  parentIds: ParentIds,
): RecordParent {
  const target = insertTargetFor(kind, id, parentIds)
  return parentIds.carePlanId === undefined ? target : { ...target, permissions: fromStoredPermissions }
}

/**
 * The permissions of a plan document, also for a closed plan.
 * @throws NotFound; Forbidden without write access to the plan
 */
export async function requireWritablePlan(
  context: StoreContext,
  { session }: Transaction,
  caller: Caller,
  { ehrId, carePlanId }: PlanParentIds,
): Promise<Permissions> {
  const plan = await requireWritableParent(parentFinderIn(context, session), caller, 'CarePlan', carePlanId, {
    ehrId,
  })
  return fromStoredPermissions(plan)
}
