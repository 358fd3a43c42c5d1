import type { Filter } from 'mongodb'
import { type Caller, permissionFilter } from '../../records/store/documents/caller.ts'
import { type Database, documentCollection } from '../../records/store/documents/database.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'

/** A search that names no patient covers at most this many. */
export const MAX_SEARCHED_PATIENTS = 20

/** The ids of EHRs that a caller may read, newest first; one more than a search may cover means too many. */
export async function readableEhrIds(database: Pick<Database, 'db'>, caller: Caller): Promise<string[]> {
  const readable = permissionFilter('_rperm', caller) as Filter<ParseDocument>
  const found = documentCollection(database, 'Ehr').find(readable, { projection: { _id: 1 } })
  const ehrs = await found
    .sort({ _created_at: -1 })
    .limit(MAX_SEARCHED_PATIENTS + 1)
    .toArray()
  return ehrs.map(({ _id }) => _id)
}

/** The care plan in which a new record belongs if it names none: the patient's only open one. */
export async function findOnlyOpenPlan(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
): Promise<string | undefined> {
  const open = { ehrId, status: 'ACTIVE', ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const plans = documentCollection(database, 'CarePlan').find(open, { projection: { _id: 1 } })
  const [plan, another] = await plans.limit(2).toArray()
  return another ? undefined : plan?._id
}

/** The care plan of a goal that the caller may read. */
export async function findPlanOfGoal(
  database: Pick<Database, 'db'>,
  caller: Caller,
  ehrId: string,
  goalId: string,
): Promise<string | undefined> {
  const goal = { _id: goalId, ehrId, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const found = await documentCollection(database, 'Goal').findOne(goal, { projection: { carePlanId: 1 } })
  return found ? String(found.carePlanId) : undefined
}
