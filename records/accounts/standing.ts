import type { ClientSession, Db } from 'mongodb'
import { holdsRoles } from '../ehrs/rights/roles.ts'
import type { Database } from '../store/documents/database.ts'
import { emailChangesOf } from './email-changes.ts'
import { linksOf } from './login/identities.ts'
import { sessionsOf, userPointer } from './login/sessions.ts'
import { stateOf, type User } from './user/user.ts'

/**
 * Begun by somebody and confirmed by nobody: it holds an address, and nothing else. Whoever registers that address
 * takes its place. An account that was ever active, or that anything hangs on, is never taken the place of: whoever
 * began it would keep a way into what another one fills.
 */
export async function isHalfRegistered(
  database: Database,
  session: ClientSession,
  user: User,
): Promise<boolean> {
  const { db } = database
  if (!isBegun(user) || user.invitedAt !== undefined) return false
  return !(await holdsRoles(database, session, user._id)) && !(await isUsed(db, user._id, session))
}

/** Neither active now nor ever before. */
export const isBegun = (user: User): boolean =>
  stateOf(user) === 'ACTIVATION_PENDING' && user.activatedAt === undefined

/** Whether somebody has used an account: sessions, an EHR, an identity elsewhere, a new address on its way. */
export async function isUsed(db: Db, mvUid: string, session: ClientSession): Promise<boolean> {
  const options = { session }
  const one = async (found: Promise<unknown>) => (await found) !== null
  // One after the other: a transaction's session takes one command at a time.
  return (
    (await one(sessionsOf(db).findOne({ _p_user: userPointer(mvUid) }, options))) ||
    (await one(db.collection('Ehr').findOne({ subjectId: mvUid, pending: { $ne: true } }, options))) ||
    (await one(linksOf(db).findOne({ mvUid }, options))) ||
    (await one(emailChangesOf(db).findOne({ _id: mvUid }, options)))
  )
}
