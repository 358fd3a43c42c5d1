import type { Db } from 'mongodb'
import type { Violation } from '../../../schemas/violation.ts'
import { type User, usersOf } from './user.ts'

/**
 * Makes an account active: somebody has read the mail to its address, and the terms are agreed to.
 * @param still what must hold of the account at that moment
 * @returns whether it did
 */
export async function activate(
  db: Db,
  { _id, email, termsVersion: agreed, activatedAt }: User,
  { termsVersion, now }: { termsVersion: string; now: Date },
  still: { _email_verify_token?: string } = {},
): Promise<boolean> {
  const terms = agreed === undefined ? { termsVersion, termsAcceptedAt: now } : {}
  const { matchedCount } = await usersOf(db).updateOne(
    { _id, email, ...still },
    {
      $set: { emailVerified: true, activatedAt: activatedAt ?? now, _updated_at: now, ...terms },
      $inc: { version: 1 },
      $unset: { _email_verify_token: '', _email_verify_token_expires_at: '' },
    },
  )
  return matchedCount === 1
}

/** What is wrong with an agreement to the terms of service. */
export const termsViolations = (accepted: boolean | undefined): Violation[] =>
  accepted === true ? [] : [{ path: 'termsAccepted', code: 'terms-not-accepted', message: 'must be true' }]
