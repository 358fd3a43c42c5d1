import type { Collection, Db } from 'mongodb'
import type { Account } from '../../../schemas/account.ts'
import type { AccountRole, AccountState } from '../../../schemas/enum.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { Expected } from '../../store/decisions.ts'
import { makeIndexes } from '../../store/documents/indexes.ts'

/** An account as Parse Server keeps it, in so far as we look at it. */
export interface User {
  _id: string
  email: string
  username: string
  emailVerified?: boolean
  /** Who may read it. Nobody: disabled, which is Parse Server's own rule for logins. */
  _rperm?: string[]
  _wperm?: string[]
  _acl?: Record<string, { r?: true; w?: true }>
  _created_at: Date
  _updated_at: Date
  _email_verify_token?: string
  _email_verify_token_expires_at?: Date
  name?: string
  language?: string
  /** Whether they want to be mailed about messages that they have not read; absent: they do. */
  chatMails?: boolean
  termsVersion?: string
  termsAcceptedAt?: Date
  invitedAt?: Date
  /** When it became active for the first time. */
  activatedAt?: Date
  /** 1 when created; grows with every change of what an account shows. */
  version: number
  /** The EHR that comes with the account at its first login. */
  ehrId?: string
}

export const usersOf = (db: Db): Collection<User> => db.collection<User>('_User')

/** Where a user reads what is mailed to them, once they have shown that the address is theirs. */
export async function mailboxOf(
  db: Db,
  mvUid: string,
): Promise<{ to: string; language: string | undefined } | undefined> {
  const user = await usersOf(db).findOne({ _id: mvUid, ...inState.ACTIVE })
  return user ? { to: user.email, language: user.language } : undefined
}

export const userByEmail = (db: Db, email: string): Promise<User | null> => usersOf(db).findOne({ email })

/** Whom somebody means who logs in: by address, or by a name chosen in the class family. */
export async function userByName(db: Db, name: string): Promise<User | undefined> {
  const found = await usersOf(db)
    .find({ $or: [{ email: name }, { username: name }] })
    .toArray()
  return found.find(({ email }) => email === name) ?? found[0]
}

/** A name that looks like an address is the account's own: otherwise it would bar another one from theirs. */
export const usernameViolations = (username: string | undefined, email: string): Violation[] =>
  username?.includes('@') && username !== email
    ? [
        {
          path: 'username',
          code: 'foreign-address',
          message: 'must be the e-mail address of the account, or no address',
        },
      ]
    : []

export function stateOf(user: User): AccountState {
  if (isDisabled(user)) return 'DISABLED'
  return user.emailVerified === true ? 'ACTIVE' : 'ACTIVATION_PENDING'
}

export const isDisabled = ({ _rperm }: Pick<User, '_rperm'>): boolean => _rperm?.length === 0

/** @throws PreconditionFailed */
export function requireVersion({ version }: User, expected: Expected): void {
  if (Array.isArray(expected) && !expected.includes(version))
    throw new ServiceError('PreconditionFailed', { version })
}

/** Finds soon who waits too long to be activated. */
export const indexUsers = (db: Db): Promise<void> =>
  makeIndexes(usersOf(db), [{ key: { emailVerified: 1, _created_at: 1 }, name: 'activation' }])

/** The query for the accounts in a state. */
export const inState: Record<AccountState, object> = {
  DISABLED: { _rperm: { $size: 0 } },
  ACTIVE: { _rperm: { $not: { $size: 0 } }, emailVerified: true },
  ACTIVATION_PENDING: { _rperm: { $not: { $size: 0 } }, emailVerified: { $in: [false, null] } },
}

/** The account as its owner and administrators see it. */
export function accountOf(user: User, roles: readonly AccountRole[], pendingEmail: string | null): Account {
  return {
    mvUid: user._id,
    email: user.email,
    state: stateOf(user),
    name: user.name ?? null,
    language: user.language ?? null,
    chatMails: user.chatMails ?? true,
    roles: [...roles],
    pendingEmail,
    termsVersion: user.termsVersion ?? null,
    termsAcceptedAt: user.termsAcceptedAt?.toISOString() ?? null,
    createdAt: user._created_at.toISOString(),
    updatedAt: user._updated_at.toISOString(),
  }
}
