import type { Response } from 'express'
import type { Accounts } from '../../../records/accounts/accounts.ts'
import type { Logins } from '../../../records/accounts/login/logins.ts'
import type { Sessions } from '../../../records/accounts/login/sessions.ts'
import type { Passwords } from '../../../records/accounts/passwords.ts'
import type { Registrations } from '../../../records/accounts/registration.ts'
import type { Removals } from '../../../records/accounts/removals.ts'
import { concealed, counted, type Spend } from '../../../records/limits/rate-limits.ts'
import type { Records } from '../../../records/store/writing/transaction.ts'
import type { ParseRequest } from '../request/parse-request.ts'

/** What the account routes stand on. */
export interface AccountParts {
  accounts: Accounts
  registrations: Registrations
  passwords: Passwords
  logins: Logins
  sessions: Sessions
  removals: Removals
  records: Records
  spend: Spend
}

/** Counts what invites guessing or mass mailing under the path family's name for it. @throws TooManyRequests */
export type Guard = (operationId: string, account?: string) => Promise<void>

/** A request about accounts. */
export interface Handling extends AccountParts {
  req: ParseRequest
  /** Of the account, when the path names one. */
  id: string
  guard: Guard
}

export interface Answer {
  status?: number
  body: object
}

export const guardBy =
  (spend: Spend, { ip = '' }: ParseRequest, res: Response): Guard =>
  async (operationId, account) => {
    await spend('guardedAddress', `${operationId} ${counted(ip)}`, res)
    if (account !== undefined) await spend('guardedAccount', `${operationId} ${concealed(account)}`, res)
  }
