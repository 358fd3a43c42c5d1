import type { ClientSession, Collection, Db } from 'mongodb'
import type { Account } from '../../../schemas/accounts/account.ts'
import { isLanguageTag } from '../../../schemas/code-lists.ts'
import type { AccountRole, AccountState } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Database } from '../../store/documents/database.ts'
import { syncIndexes } from '../../store/documents/indexes.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { type LockHolder, lockCondition } from '../../store/writing/ehr-locks.ts'

/** The fields of an account as Parse Server stores it that this service uses. */
export interface User {
  _id: string
  email: string
  username: string
  emailVerified?: boolean
  /**
   * Users with read permission. Parse Server refuses logins to an account that nobody may read: it is
   * disabled.
   */
  _rperm?: string[]
  _wperm?: string[]
  _created_at: Date
  _updated_at: Date
  /** Absent in an invited account until its owner chooses a password. */
  _hashed_password?: string
  _email_verify_token?: string
  _email_verify_token_expires_at?: Date
  /** The token of a link for choosing a password. */
  _perishable_token?: string
  _perishable_token_expires_at?: Date
  name?: string
  language?: string
  /** Whether the user wants mails about unread messages; absent: yes. */
  chatMails?: boolean
  termsVersion?: string
  termsAcceptedAt?: Date
  invitedAt?: Date
  /** Time of the first activation. */
  activatedAt?: Date
  /** 1 when created; grows with every change of a visible field. */
  version: number
  /** The EHR that the account's first login creates. */
  ehrId?: string
}

export const usersOf = (db: Db): Collection<User> => db.collection<User>('_User')

export const findActiveUser = (db: Db, mvUid: string): Promise<User | null> =>
  usersOf(db).findOne({ _id: mvUid, ...ACCOUNT_STATE_FILTERS.ACTIVE })

/** The address and language for mails to a user, if the address has been confirmed. */
export async function findMailbox(
  db: Db,
  mvUid: string,
): Promise<{ to: string; language: string | undefined } | undefined> {
  const user = await findActiveUser(db, mvUid)
  return user ? { to: user.email, language: user.language } : undefined
}

/**
 * An address or username in lower case. Of an address only ASCII letters change: others become such letters, as the Kelvin
 * sign becomes k, and would name the account of another person.
 */
export const toLowerCaseLogin = (name: string): string =>
  name.includes('@') ? name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name.toLowerCase()

export const findUserByEmail = (db: Db, email: string): Promise<User | null> => usersOf(db).findOne({ email })

/** The account that a login name means: an address, or a username chosen in the class family. */
export async function findUserByLogin(db: Db, name: string): Promise<User | undefined> {
  const users = await usersOf(db)
    .find({ $or: [{ email: name }, { username: name }] })
    .toArray()
  return users.find(({ email }) => email === name) ?? users[0]
}

/**
 * A username that looks like an address must be the account's own; otherwise it would block that of another
 * person.
 */
export const usernameViolations = (username: string | undefined, email: string): Violation[] =>
  username?.includes('@') && username !== email
    ? [
        {
          path: 'username',
          code: 'foreign-address',
          message: 'must not look like an e-mail address, unless it is that of the account',
        },
      ]
    : []

export function accountStateOf(user: User): AccountState {
  if (isDisabled(user)) return 'DISABLED'
  return user.emailVerified === true ? 'ACTIVE' : 'ACTIVATION_PENDING'
}

export const isDisabled = ({ _rperm }: Pick<User, '_rperm'>): boolean => _rperm?.length === 0

/** Those of the users whose accounts an administrator has disabled. */
export async function findDisabledUsers(
  db: Db,
  userIds: readonly string[],
  session?: ClientSession,
): Promise<Set<string>> {
  const disabled = { _id: { $in: [...userIds] }, ...ACCOUNT_STATE_FILTERS.DISABLED }
  const disabledUsers = usersOf(db).find(disabled, { projection: { _id: 1 }, ...(session && { session }) })
  return new Set((await disabledUsers.toArray()).map(({ _id }) => _id))
}

/** Locks the existence of an account: its deletion conflicts with transactions that store its id elsewhere. */
export const lockAccount = (
  database: Pick<Database, 'db'>,
  tx: Pick<LockHolder, 'session' | 'locks'>,
  mvUid: string,
): Promise<void> => lockCondition(database, tx, `account ${mvUid}`)

/** @throws PreconditionFailed */
export function requireVersion({ version }: User, expected: ExpectedVersions): void {
  if (Array.isArray(expected) && !expected.includes(version))
    throw new ServiceError('PreconditionFailed', { version })
}

/** Serves the search for accounts that were not activated in time. */
export const createUserIndexes = (db: Db): Promise<void> =>
  syncIndexes(usersOf(db), [{ key: { emailVerified: 1, _created_at: 1 }, name: 'activation' }])

export const ACCOUNT_STATE_FILTERS: Record<AccountState, object> = {
  DISABLED: { _rperm: { $size: 0 } },
  ACTIVE: { _rperm: { $not: { $size: 0 } }, emailVerified: true },
  ACTIVATION_PENDING: { _rperm: { $not: { $size: 0 } }, emailVerified: { $in: [false, null] } },
}

/** The name and language of the person. Earlier versions accepted blank names and unknown languages. */
export const personalDataOf = ({ name, language }: Pick<User, 'name' | 'language'>) => ({
  name: name?.trim() ? name : null,
  language: language && isLanguageTag(language) ? language : null,
})

export function toAccount(user: User, roles: readonly AccountRole[], pendingEmail: string | null): Account {
  return {
    mvUid: user._id,
    email: user.email,
    state: accountStateOf(user),
    ...personalDataOf(user),
    chatMails: user.chatMails ?? true,
    roles: [...roles],
    pendingEmail,
    termsVersion: user.termsVersion ?? null,
    termsAcceptedAt: user.termsAcceptedAt?.toISOString() ?? null,
    createdAt: user._created_at.toISOString(),
    updatedAt: user._updated_at.toISOString(),
  }
}
