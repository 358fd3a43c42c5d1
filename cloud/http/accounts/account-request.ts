import type { Response } from 'express'
import type { AccountDeletion } from '../../../records/accounts/account-deletion.ts'
import type { Accounts } from '../../../records/accounts/accounts.ts'
import type { Helpers } from '../../../records/accounts/helpers/helpers.ts'
import type { Logins } from '../../../records/accounts/login/logins.ts'
import type { Sessions } from '../../../records/accounts/login/sessions.ts'
import type { Passwords } from '../../../records/accounts/passwords.ts'
import type { Registrations } from '../../../records/accounts/registration/registrations.ts'
import { hashedKey, ipKey, type RateLimiter } from '../../../records/limits/rate-limiter.ts'
import type { StoreContext } from '../../../records/store/writing/transaction.ts'
import type { ParseRequest } from '../request/parse-request.ts'

/** Dependencies of the account routes. */
export interface AccountRouteDependencies {
  accounts: Accounts
  registrations: Registrations
  passwords: Passwords
  logins: Logins
  helpers: Helpers
  sessions: Sessions
  accountDeletion: AccountDeletion
  context: StoreContext
  consume: RateLimiter
}

/**
 * Limits guarded operations, under the operation id of the path family.
 * @throws TooManyRequests
 */
export type AttemptLimiter = (operationId: string, account?: string) => Promise<void>

export interface AccountRequest extends AccountRouteDependencies {
  req: ParseRequest
  /** Id of the account, if the path names one. */
  id: string
  limitAttempts: AttemptLimiter
}

export interface AccountResponse {
  status?: number
  body: object
}

export const createAttemptLimiter =
  (consume: RateLimiter, { ip = '' }: ParseRequest, res: Response): AttemptLimiter =>
  async (operationId, account) => {
    await consume('guardedAddress', `${operationId} ${ipKey(ip)}`, res)
    if (account !== undefined) await consume('guardedAccount', `${operationId} ${hashedKey(account)}`, res)
  }
