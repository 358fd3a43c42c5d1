import type { Colleague } from '../../schemas/worklist/handover.ts'
import { findDisabledUsers } from '../accounts/user/user.ts'
import { carePlanIdOfRole, planRole } from '../ehrs/rights/access.ts'
import { findHolders } from '../ehrs/rights/roles.ts'
import type { Caller } from '../store/documents/caller.ts'
import { type Database, documentCollection } from '../store/documents/database.ts'
import type { CursorPosition } from '../store/reading/cursor.ts'

/** A user who may write care plans that the caller may write. */
export interface ColleagueWithEhrs extends Omit<Colleague, 'name'> {
  /** The EHRs of these care plans. */
  ehrIds: string[]
}

/** The most care plans and colleagues that a search considers. */
const MAX_PLANS = 1000
const MAX_HOLDERS = 10_000

/** Finds the users with whom the caller shares the care of others, those with most of the care plans first. */
export async function findColleagues(database: Database, caller: Caller): Promise<ColleagueWithEhrs[]> {
  const plans = await findOpenPlans(database, caller)
  const holders = await findHolders(
    database,
    [...plans.keys()].map((id) => planRole(id, 'write')),
    MAX_HOLDERS,
  )
  const disabled = await findDisabledUsers(database.db, [...holders.keys()])
  return [...holders]
    .filter(([mvUid]) => mvUid !== caller.userId && !disabled.has(mvUid))
    .map(([mvUid, roles]) => {
      const ehrIds = roles.map((role) => plans.get(carePlanIdOfRole(role) ?? '') ?? '')
      return { mvUid, carePlans: roles.length, ofCarePlans: plans.size, ehrIds: [...new Set(ehrIds)] }
    })
    .sort(compareColleagues)
}

type ColleaguePosition = Pick<ColleagueWithEhrs, 'carePlans' | 'mvUid'>

const compareColleagues = (a: ColleaguePosition, b: ColleaguePosition): number =>
  b.carePlans - a.carePlans || (a.mvUid < b.mvUid ? -1 : 1)

/** Whether a colleague follows the position of a cursor. */
export const isListedAfter = (colleague: ColleagueWithEhrs, { value, id }: CursorPosition): boolean =>
  compareColleagues({ carePlans: Number(value), mvUid: id }, colleague) < 0

/** The open care plans that the caller takes part in and may write, with their EHRs. */
async function findOpenPlans(database: Database, { roles }: Caller): Promise<Map<string, string>> {
  const ids = roles.flatMap((role) => {
    const id = carePlanIdOfRole(role)
    return id !== undefined && role === planRole(id, 'write') ? [id] : []
  })
  const open = { _id: { $in: ids.slice(0, MAX_PLANS) }, status: 'ACTIVE' }
  const openPlans = documentCollection(database, 'CarePlan').find(open, { projection: { ehrId: 1 } })
  return new Map((await openPlans.toArray()).map(({ _id, ehrId }) => [_id, String(ehrId)]))
}
