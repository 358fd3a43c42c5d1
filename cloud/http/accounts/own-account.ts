import type { Static } from '@sinclair/typebox'
import { usernameViolations, usersOf } from '../../../records/accounts/user/user.ts'
import { requireNoViolations } from '../../../records/ehr-records/refusals/refusals.ts'
import { ClassAccountProof } from '../../../schemas/accounts/class-accounts.ts'
import { OtherUserParams } from '../../../schemas/accounts/helper.ts'
import { toDateObject } from '../../../schemas/forms/class-form.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { createCallerWithoutRoles } from '../../request/caller.ts'
import { createEndedSessionRefusal, parseErrorCode, Refusal } from '../request/parse-request.ts'
import { type BodyFields, parseAccountChange, requireFit, requireKnownProperties } from './account-bodies.ts'
import type { AccountRequest, AccountResponse } from './account-request.ts'

/**
 * Changes the caller's own account. The error is the same whether or not another account exists. A new
 * address, or a name that follows it, only holds when the address is confirmed; the response contains what
 * holds, so that SDKs show it.
 */
export async function changeAccount(handling: AccountRequest): Promise<AccountResponse> {
  const { req, id, context, accounts, passwords } = handling
  const users = usersOf(context.db)
  const user = await users.findOne({ _id: id })
  if (req.auth.user?.id !== id || !user) throw createForeignAccountRefusal()
  const body = (req.body ?? {}) as BodyFields
  const { currentPassword, password, ...change } = parseAccountChange(body, user, req.info.sessionToken)
  requireNoViolations(usernameViolations(change.username, user.email))
  let setPassword: (() => Promise<void>) | undefined
  if (password !== undefined || change.email !== undefined || change.username !== undefined) {
    const sid = await requireCurrentPassword(handling, currentPassword)
    if (password !== undefined) {
      await passwords.requireAllowed(id, password, change.username)
      setPassword = () => passwords.setPassword(id, sid, password)
    }
  }
  const isChanged = password !== undefined || Object.keys(change).length > 0
  const { account } = isChanged
    ? await accounts.update(accountCallerOf(handling), id, change, undefined, setPassword)
    : await accounts.get(id)
  const { username } = (await users.findOne({ _id: id }, { projection: { username: 1 } })) ?? user
  return { body: { username, email: account.email, updatedAt: account.updatedAt } }
}

/** Deletes the caller's own account with all personal data; the master key can delete any account. */
export async function deleteAccount(handling: AccountRequest): Promise<AccountResponse> {
  const { req, id, accountDeletion } = handling
  if (!req.auth.isMaster) {
    if (req.auth.user?.id !== id) throw createForeignAccountRefusal()
    const body = (req.body ?? {}) as BodyFields
    requireKnownProperties(body, ClassAccountProof)
    const { currentPassword } = body
    await requireCurrentPassword(handling, typeof currentPassword === 'string' ? currentPassword : undefined)
  }
  await accountDeletion.remove(accountCallerOf(handling), id, undefined)
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
  if (!session || !(await sessions.facts(session.sid))) throw createEndedSessionRefusal()
  const { sid: objectId, mvUid, sessionToken, expiresAt, createdAt } = session
  const user = { __type: 'Pointer', className: '_User', objectId: mvUid }
  return {
    body: {
      objectId,
      sessionToken,
      user,
      restricted: false,
      createdAt,
      expiresAt: toDateObject(expiresAt),
    },
  }
}

/** The function `actForPerson`: it begins a session in which the caller acts for a person. */
export async function actForPersonByFunction(handling: AccountRequest): Promise<AccountResponse> {
  const { req, sessions, helpers, logins } = handling
  const body = (req.body ?? {}) as BodyFields
  const { mvUid } = requireFit<Static<typeof OtherUserParams>>(body, findOtherUserViolations)
  const agreement = await helpers.requireInForce(accountCallerOf(handling), mvUid)
  const sid = (await sessions.findSid(req.info.sessionToken ?? '')) ?? ''
  const { sessionToken, acts } = await logins.actFor(sid, agreement)
  return { body: { result: { sessionToken, mvUid, acts, until: agreement.until } } }
}

const findOtherUserViolations = createValidator(OtherUserParams)

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
  createCallerWithoutRoles(req.auth.isMaster, req.auth.user, req.get('x-request-id'))
