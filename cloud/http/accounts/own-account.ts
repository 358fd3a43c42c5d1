import { usernameViolations, usersOf } from '../../../records/accounts/user/user.ts'
import { requireNoViolations } from '../../../records/ehr-records/refusals/refusals.ts'
import { toDateObject } from '../../../schemas/forms/class-form.ts'
import { createCallerWithoutRoles } from '../../request/caller.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { type BodyFields, parseAccountChange } from './account-bodies.ts'
import type { AccountRequest, AccountResponse } from './account-request.ts'

/** Changes the caller's own account. The error is the same whether or not another account exists. */
export async function changeAccount(handling: AccountRequest): Promise<AccountResponse> {
  const { req, id, records, accounts, passwords } = handling
  const user = await usersOf(records.db).findOne({ _id: id })
  if (req.auth.user?.id !== id || !user) throw createForeignAccountRefusal()
  const { currentPassword, password, ...change } = parseAccountChange((req.body ?? {}) as BodyFields, user)
  requireNoViolations(usernameViolations(change.username, user.email))
  if (password !== undefined || change.email !== undefined || change.username !== undefined) {
    const sid = await requireCurrentPassword(handling, currentPassword)
    if (password !== undefined) await passwords.setPassword(id, sid, password)
  }
  const { account } = await accounts.update(accountCallerOf(handling), id, change, undefined)
  return { body: { updatedAt: account.updatedAt } }
}

/** Deletes the caller's own account with all personal data; the master key can delete any account. */
export async function deleteAccount(handling: AccountRequest): Promise<AccountResponse> {
  const { req, id, removals } = handling
  if (!req.auth.isMaster) {
    if (req.auth.user?.id !== id) throw createForeignAccountRefusal()
    const { currentPassword } = (req.body ?? {}) as BodyFields
    await requireCurrentPassword(handling, typeof currentPassword === 'string' ? currentPassword : undefined)
  }
  await removals.remove(accountCallerOf(handling), id, undefined)
  return { body: {} }
}

const createForeignAccountRefusal = () =>
  new Refusal(
    400,
    parseErrorCode.sessionMissing,
    'Under /1 you can change and delete only your own account. Administrators use /auth/account/{mvUid}.',
  )

/** Returns the session of the request, as SDKs expect it. */
export async function getOwnSession({ req, sessions }: AccountRequest): Promise<AccountResponse> {
  const session = await sessions.findByToken(req.info.sessionToken ?? '')
  if (!session) throw new Refusal(401, parseErrorCode.invalidSession, 'Invalid session token')
  const { sid: objectId, mvUid, sessionToken, expiresAt, createdAt } = session
  const user = { __type: 'Pointer', className: '_User', objectId: mvUid }
  return {
    body: {
      ...{ objectId, sessionToken, user, restricted: false, createdAt },
      expiresAt: toDateObject(expiresAt),
    },
  }
}

/**
 * @returns the session
 * @throws PasswordRequired, WrongPassword, AccountLocked, TooManyRequests
 */
async function requireCurrentPassword(
  { req, id, limitAttempts, sessions, passwords }: AccountRequest,
  currentPassword: string | undefined,
): Promise<string> {
  if (currentPassword !== undefined) await limitAttempts('updatePassword')
  const sid = (await sessions.findSid(req.info.sessionToken ?? '')) ?? ''
  await passwords.requireProof(id, sid, currentPassword)
  return sid
}

const accountCallerOf = ({ req }: AccountRequest) =>
  createCallerWithoutRoles(req.auth.isMaster, req.auth.user?.id, req.get('x-request-id'))
