import type { ClientSession, Db } from 'mongodb'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { ACCOUNT_STATE_FILTERS, type User, usersOf } from './user.ts'

/** The token of an activation link, for `$unset`. */
export const VERIFICATION_TOKEN = { _email_verify_token: '', _email_verify_token_expires_at: '' } as const

/** Whether an account waits for its activation, and its owner has not agreed to the terms yet. */
export const mustAgreeToTerms = ({ termsVersion, emailVerified }: User): boolean =>
  termsVersion === undefined && emailVerified !== true

/** The fields of an account that its activation sets. @param termsVersion the terms that the person agrees to */
export function activatedFields(
  { termsVersion: acceptedVersion, activatedAt }: User,
  { termsVersion, now }: { termsVersion: string | undefined; now: Date },
) {
  const agrees = acceptedVersion === undefined && termsVersion !== undefined
  const terms = agrees ? { termsVersion, termsAcceptedAt: now } : {}
  return { emailVerified: true, activatedAt: activatedAt ?? now, _updated_at: now, ...terms }
}

/**
 * Activates an account whose owner has received its mail and agreed to the terms, if there are any.
 * @param still further conditions on the account at that moment
 * @returns whether they held and the account is active
 */
export async function activateAccount(
  db: Db,
  user: User,
  agreement: Parameters<typeof activatedFields>[1],
  still: { _email_verify_token?: string } = {},
): Promise<boolean> {
  const { _id, email } = user
  const { matchedCount } = await usersOf(db).updateOne(
    { _id, email, ...still },
    { $set: activatedFields(user, agreement), $inc: { version: 1 }, $unset: VERIFICATION_TOKEN },
  )
  return matchedCount === 1
}

/**
 * Makes an account that waits for its activation an invited one: only a password that the owner of the address chooses
 * activates it. A stranger may have registered it, so the password and the link of the registration become void.
 * @returns undefined when the account does not wait for its activation
 */
export async function convertToInvited(
  db: Db,
  mvUid: string,
  now: Date,
  session?: ClientSession,
): Promise<User | undefined> {
  const user = await usersOf(db).findOneAndUpdate(
    { _id: mvUid, ...ACCOUNT_STATE_FILTERS.ACTIVATION_PENDING },
    {
      $set: { invitedAt: now },
      $unset: { _hashed_password: '', ...VERIFICATION_TOKEN },
    },
    { returnDocument: 'after', ...(session && { session }) },
  )
  return user ?? undefined
}

/** @param termsVersion the published terms; undefined if there are none, then nobody needs to agree */
export const termsViolations = (
  termsVersion: string | undefined,
  isAccepted: boolean | undefined,
): Violation[] =>
  termsVersion === undefined || isAccepted === true
    ? []
    : [{ path: 'termsAccepted', code: 'terms-not-accepted', message: 'must be true' }]
