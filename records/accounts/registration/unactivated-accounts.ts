import type { ClientSession, Db } from 'mongodb'
import { hasAnyRole } from '../../ehrs/rights/roles.ts'
import type { Database } from '../../store/documents/database.ts'
import { emailChangesOf } from '../email-changes.ts'
import { identityLinksOf } from '../login/identities.ts'
import { sessionsOf, userPointer } from '../login/sessions.ts'
import { accountStateOf, type User } from '../user/user.ts'

/** Days until an account that was not activated is removed. */
export const ACTIVATION_PERIOD_DAYS = 7

/**
 * A registration that nobody confirmed, and that has no data. The next registration of the address replaces
 * it. An account that was ever active or has data is never replaced: whoever registered it would keep access
 * to what the new owner stores.
 */
export async function isAbandonedRegistration(
  database: Database,
  session: ClientSession,
  user: User,
): Promise<boolean> {
  const { db } = database
  if (!isUnactivated(user) || user.invitedAt !== undefined) return false
  return !(await hasAnyRole(database, session, user._id)) && !(await isAccountUsed(db, user._id, session))
}

export const isUnactivated = (user: User): boolean =>
  accountStateOf(user) === 'ACTIVATION_PENDING' && user.activatedAt === undefined

/** Whether an account has been used: it has a session, an EHR, an external identity or a pending address. */
export async function isAccountUsed(db: Db, mvUid: string, session: ClientSession): Promise<boolean> {
  const options = { session }
  const one = async (search: Promise<unknown>) => (await search) !== null
  // A transaction's session takes one command at a time.
  return (
    (await one(sessionsOf(db).findOne({ _p_user: userPointer(mvUid) }, options))) ||
    (await one(db.collection('Ehr').findOne({ subjectId: mvUid, pending: { $ne: true } }, options))) ||
    (await one(identityLinksOf(db).findOne({ mvUid }, options))) ||
    (await one(emailChangesOf(db).findOne({ _id: mvUid }, options)))
  )
}
