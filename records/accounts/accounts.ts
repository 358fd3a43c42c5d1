import type { ClientSession } from 'mongodb'
import type { Account, AccountUpdate } from '../../schemas/accounts/account.ts'
import { ACCOUNT_ROLES, type AccountRole, type AccountState } from '../../schemas/enums.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { reviewAlertsOf } from '../ehrs/rights/alert-owners.ts'
import { findDirectRoles, setRole } from '../ehrs/rights/roles.ts'
import { hashedKey, type RateLimiter } from '../limits/rate-limiter.ts'
import { type Caller, isAdmin } from '../store/documents/caller.ts'
import { isDuplicateKeyError } from '../store/documents/database.ts'
import { toStoredPermissions } from '../store/documents/parse-format.ts'
import { decodeCursor } from '../store/reading/cursor.ts'
import { createPage, type PageRequest } from '../store/reading/pages.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import type { EmailChanges } from './email-changes.ts'
import type { Sessions } from './login/sessions.ts'
import { accountHistoryEntry, withoutSecrets } from './user/account-history.ts'
import { convertToInvited, mustAgreeToTerms } from './user/activation.ts'
import type { MailLinks, SendMail } from './user/mails.ts'
import {
  ACCOUNT_STATE_FILTERS,
  findUserByEmail,
  requireVersion,
  toAccount,
  toLowerCaseLogin,
  type User,
  usersOf,
} from './user/user.ts'

export interface VersionedAccount {
  account: Account
  version: number
}

export interface AccountDependencies {
  context: StoreContext
  sessions: Sessions
  emailChanges: EmailChanges
  sendMail: SendMail
  links: MailLinks
  consume: RateLimiter
}

/** The fields of an account that may change; only the class family sets a username. */
export type AccountEdit = Omit<AccountUpdate, 'currentPassword'> & { username?: string }

const ACCOUNT_LIST = 'accounts'

/** Leaves out empty conditions on the id: the query stays flat, so that an index serves it. */
const idFilter = (conditions: { $eq?: string; $gt?: string }) =>
  Object.keys(conditions).length === 0 ? {} : { _id: conditions }

/** Accounts as their owners and administrators see and change them. */
export class Accounts {
  readonly #parts: AccountDependencies

  constructor(parts: AccountDependencies) {
    this.#parts = parts
  }

  /** @throws NotFound */
  async get(mvUid: string): Promise<VersionedAccount> {
    const user = await usersOf(this.#db).findOne({ _id: mvUid })
    if (!user) throw new ServiceError('NotFound')
    const [account] = await this.#toAccounts([user])
    return { account: account as Account, version: user.version }
  }

  /** Lists all accounts for an administrator, otherwise only the caller's own; by id. */
  async list(
    caller: Caller,
    { email, state }: { email?: string | undefined; state?: AccountState | undefined },
    { limit, cursor, count }: PageRequest,
  ) {
    const visible = isAdmin(caller) ? {} : { $eq: caller.userId }
    const beyond = cursor === undefined ? {} : { $gt: decodeCursor(ACCOUNT_LIST, cursor).id }
    const matching = {
      ...(email === undefined ? {} : { email: toLowerCaseLogin(email) }),
      ...(state === undefined ? {} : ACCOUNT_STATE_FILTERS[state]),
    }
    const total = count
      ? await usersOf(this.#db).countDocuments({ ...matching, ...idFilter(visible) })
      : undefined
    const users = await usersOf(this.#db)
      .find({ ...matching, ...idFilter({ ...visible, ...beyond }) })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const page = createPage(ACCOUNT_LIST, users, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: await this.#toAccounts(page.items) }
  }

  /** Finds the accounts with these ids or addresses that the caller may see. */
  async findVisible(
    caller: Caller,
    mvUids: readonly string[],
    emails: readonly string[],
  ): Promise<Account[]> {
    const addresses = emails.map(toLowerCaseLogin)
    const filter = { $or: [{ _id: { $in: [...mvUids] } }, { email: { $in: addresses } }] }
    const visible = isAdmin(caller) ? filter : { $and: [filter, { _id: caller.userId }] }
    return this.#toAccounts(await usersOf(this.#db).find(visible).sort({ _id: 1 }).toArray())
  }

  /**
   * Changes an account. A new address stays pending until its owner follows the mailed link.
   * Counts as a registration, since it mails a stranger.
   * @param setPassword runs once the other changes are made, and before the new address is pending: a new password cancels that
   * @throws NotFound, Forbidden, PreconditionFailed, RuleViolated, TooManyRequests; Conflict when another
   * account has the username
   */
  async update(
    caller: Caller,
    mvUid: string,
    change: AccountEdit,
    expected: ExpectedVersions,
    setPassword: () => Promise<void> = async () => {},
  ): Promise<VersionedAccount> {
    requireAllowedEdit(caller, mvUid, change)
    const email = change.email && toLowerCaseLogin(change.email)
    if (email !== undefined) await this.#countNewAddress(caller, mvUid, email)
    if (change.disabled === false) await this.#endSessionsOfDisabled(mvUid)
    const user = await runStoreTransaction(this.#parts.context, (tx) =>
      this.#applyEdit(tx, caller, mvUid, change, expected),
    ).catch(throwUsernameConflict)
    if (change.disabled) await this.#parts.sessions.endAll(mvUid)
    await setPassword()
    if (email !== undefined) await this.#changeEmail(user, email)
    return this.get(mvUid)
  }

  /** A session outlives the disabling of its account if the service dies meanwhile. Nobody may use it again. */
  async #endSessionsOfDisabled(mvUid: string): Promise<void> {
    const disabled = { _id: mvUid, ...ACCOUNT_STATE_FILTERS.DISABLED }
    if (await usersOf(this.#db).findOne(disabled, { projection: { _id: 1 } }))
      await this.#parts.sessions.endAll(mvUid)
  }

  async #countNewAddress({ userId }: Caller, mvUid: string, email: string): Promise<void> {
    const unchangedUser = await usersOf(this.#db).findOne({ _id: mvUid, email }, { projection: { _id: 1 } })
    if (!unchangedUser) await this.#parts.consume('guardedAccount', `registerAccount ${hashedKey(userId)}`)
  }

  get #db() {
    return this.#parts.context.db
  }

  async #toAccounts(users: readonly User[]): Promise<Account[]> {
    const ids = users.map(({ _id }) => _id)
    const [roles, pending] = await Promise.all([
      findDirectRoles(this.#parts.context, ids, ACCOUNT_ROLES),
      this.#parts.emailChanges.findPending(ids),
    ])
    return users.map((user) =>
      toAccount(user, (roles.get(user._id) ?? []) as AccountRole[], pending.get(user._id) ?? null),
    )
  }

  async #requireUser(session: ClientSession, mvUid: string, expected: ExpectedVersions): Promise<User> {
    const user = await usersOf(this.#db).findOne({ _id: mvUid }, { session })
    if (!user) throw new ServiceError('NotFound')
    requireVersion(user, expected)
    return user
  }

  async #applyEdit(
    tx: Transaction,
    caller: Caller,
    mvUid: string,
    { name, language, chatMails, username, roles, disabled }: AccountEdit,
    expected: ExpectedVersions,
  ): Promise<User> {
    const { context } = this.#parts
    const { session } = tx
    const at = context.clock()
    const user = await this.#requireUser(session, mvUid, expected)
    const set: Record<string, unknown> = { version: user.version + 1, _updated_at: at }
    const unset: Record<string, ''> = {}
    for (const [key, value] of Object.entries({ name, language, chatMails, username })) {
      if (value === null) unset[key] = ''
      else if (value !== undefined) set[key] = value
    }
    if (disabled !== undefined) Object.assign(set, accountPermissions(mvUid, disabled))
    await usersOf(this.#db).updateOne({ _id: mvUid }, { $set: set, $unset: unset }, { session })
    if (disabled) await reviewAlertsOf(context, session, mvUid)
    if (roles)
      for (const role of ACCOUNT_ROLES) await setRole(context, session, mvUid, role, roles.includes(role))
    if (roles && roles.length > 0) await convertToInvited(this.#db, mvUid, at, session)
    const changed = [
      ...Object.keys(set).filter((key) => !['version', '_updated_at'].includes(key)),
      ...Object.keys(unset),
      ...(roles ? ['roles'] : []),
    ]
    const change = { action: 'update' as const, before: withoutSecrets(user), changed }
    tx.changes.push(accountHistoryEntry(user, { caller, at }, change))
    return user
  }

  /** The response is the same if the address already has an account; its owner then gets a mail about it. */
  async #changeEmail(user: User, email: string): Promise<void> {
    const { emailChanges, sendMail, links } = this.#parts
    const { language } = user
    if (email === user.email) return emailChanges.cancel(user._id)
    const link = links.activation(
      await emailChanges.begin(user._id, email),
      language,
      !mustAgreeToTerms(user),
    )
    const owner = await findUserByEmail(this.#db, email)
    if (owner) await sendMail({ to: email, template: 'account-exists', language: owner.language, data: {} })
    else await sendMail({ to: email, template: 'confirm-address', language, data: { link } })
  }
}

function throwUsernameConflict(error: unknown): never {
  if (!isDuplicateKeyError(error)) throw error
  throw new ServiceError('Conflict', { detail: 'Account already exists for this username.' })
}

/**
 * @throws Forbidden for changes reserved to administrators; RuleViolated for those not allowed on one's own
 * account
 */
function requireAllowedEdit(caller: Caller, mvUid: string, { roles, disabled }: AccountUpdate): void {
  if (roles === undefined && disabled === undefined) return
  if (!isAdmin(caller)) {
    throw new ServiceError('Forbidden', { detail: 'Only administrators can set roles and disabled.' })
  }
  if (caller.userId !== mvUid) return
  const ownAccountViolation = (path: string, message: string) => ({ path, code: 'own-account', message })
  const violations = [
    ...(roles && !roles.includes('admin')
      ? [ownAccountViolation('roles', 'must keep the role admin for your own account')]
      : []),
    ...(disabled ? [ownAccountViolation('disabled', 'must not be set for your own account')] : []),
  ]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** Nobody has read permission on a disabled account; Parse Server then refuses its logins. */
function accountPermissions(mvUid: string, isDisabled: boolean): Pick<User, '_rperm' | '_wperm'> {
  const users = isDisabled ? [] : [mvUid]
  return toStoredPermissions({ read: users, write: users })
}
