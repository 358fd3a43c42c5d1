import { requireNone } from '../../../records/accounts/user/password-policy.ts'
import { usernameViolations, usersOf } from '../../../records/accounts/user/user.ts'
import { identityOf } from '../../request/caller.ts'
import { code, Refusal } from '../request/parse-request.ts'
import { changeIn, type Fields } from './bodies.ts'
import type { Answer, Handling } from './handling.ts'

/** Changes the caller's own account: others' are not there for them, as Parse answers. */
export async function changeAccount(handling: Handling): Promise<Answer | undefined> {
  const { req, id, records, accounts, passwords } = handling
  const user = await usersOf(records.db).findOne({ _id: id })
  if (req.auth.user?.id !== id || !user) return undefined
  const { currentPassword, password, ...change } = changeIn((req.body ?? {}) as Fields, user)
  requireNone(usernameViolations(change.username, user.email))
  if (password !== undefined || change.email !== undefined || change.username !== undefined) {
    const sid = await requireProof(handling, currentPassword)
    if (password !== undefined) await passwords.set(id, sid, password)
  }
  const { account } = await accounts.update(callerOf(handling), id, change, undefined)
  return { body: { updatedAt: account.updatedAt } }
}

/** Deletes the caller's own account with everything personal; the master key deletes anybody's. */
export async function deleteAccount(handling: Handling): Promise<Answer | undefined> {
  const { req, id, removals } = handling
  if (!req.auth.isMaster) {
    if (req.auth.user?.id !== id) return undefined
    const { currentPassword } = (req.body ?? {}) as Fields
    await requireProof(handling, typeof currentPassword === 'string' ? currentPassword : undefined)
  }
  await removals.remove(callerOf(handling), id, undefined)
  return { body: {} }
}

/** The session of the request, as SDKs ask for it. */
export async function ownSession({ req, sessions }: Handling): Promise<Answer> {
  const session = await sessions.ofToken(req.info.sessionToken ?? '')
  if (!session) throw new Refusal(401, code.invalidSession, 'Invalid session token')
  const { sid: objectId, mvUid, sessionToken, expiresAt, createdAt } = session
  const user = { __type: 'Pointer', className: '_User', objectId: mvUid }
  return {
    body: {
      ...{ objectId, sessionToken, user, restricted: false, createdAt },
      expiresAt: { __type: 'Date', iso: expiresAt },
    },
  }
}

/** @returns the session @throws PasswordRequired, WrongPassword, AccountLocked, TooManyRequests */
async function requireProof(
  { req, id, guard, sessions, passwords }: Handling,
  currentPassword: string | undefined,
): Promise<string> {
  if (currentPassword !== undefined) await guard('updatePassword')
  const sid = (await sessions.sidOf(req.info.sessionToken ?? '')) ?? ''
  await passwords.requireProof(id, sid, currentPassword)
  return sid
}

const callerOf = ({ req }: Handling) =>
  identityOf(req.auth.isMaster, req.auth.user?.id, req.get('x-request-id'))
