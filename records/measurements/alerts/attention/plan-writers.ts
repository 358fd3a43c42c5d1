import type { ClientSession } from 'mongodb'
import { findDisabledUsers } from '../../../accounts/user/user.ts'
import { findDirectRoles } from '../../../ehrs/rights/roles.ts'
import { type Database, documentCollection } from '../../../store/documents/database.ts'

/**
 * The ones of the users who may write a care plan now, in the same order; nobody may if it is deleted. An account that
 * an administrator has disabled cannot write anything.
 */
export async function findPlanWriters(
  database: Database,
  session: ClientSession,
  carePlanId: string,
  userIds: readonly string[],
): Promise<string[]> {
  if (userIds.length === 0) return []
  const plan = await documentCollection(database, 'CarePlan').findOne({ _id: carePlanId }, { session })
  const { _wperm: writers = [] } = plan ?? {}
  const roles = writers.flatMap((who) => (who.startsWith('role:') ? [who.slice('role:'.length)] : []))
  const directRoles = await findDirectRoles(database, userIds, roles)
  const disabled = await findDisabledUsers(database.db, userIds, session)
  return userIds.filter(
    (userId) => (writers.includes(userId) || directRoles.has(userId)) && !disabled.has(userId),
  )
}
