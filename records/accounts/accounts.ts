import type { ClientSession } from 'mongodb'
import type { Account, AccountUpdate } from '../../schemas/account.ts'
import { ACCOUNT_ROLES, type AccountRole, type AccountState } from '../../schemas/enum.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { directRoles, setRole } from '../ehrs/rights/roles.ts'
import type { Expected } from '../store/decisions.ts'
import { type Caller, isAdmin } from '../store/documents/caller.ts'
import { type Database, isDuplicate, together } from '../store/documents/database.ts'
import { decodeCursor } from '../store/reading/cursor.ts'
import { type PageOf, paged } from '../store/reading/listing.ts'
import type { EmailChanges } from './email-changes.ts'
import type { Sessions } from './login/sessions.ts'
import { noteChange, withoutSecrets } from './user/changes.ts'
import type { Links, SendMail } from './user/mails.ts'
import { accountOf, inState, requireVersion, type User, userByEmail, usersOf } from './user/user.ts'

/** An account and its version. */
export interface Versioned {
  account: Account
  version: number
}

export interface AccountParts {
  database: Database
  sessions: Sessions
  emailChanges: EmailChanges
  sendMail: SendMail
  links: Links
  clock: () => Date
}

/** What may change; a username is the class family's alone. */
export type Change = Omit<AccountUpdate, 'currentPassword'> & { username?: string }

const LIST = 'accounts'

/** Conditions on the id, if there are any: the query stays flat, so that an index serves it. */
const onId = (conditions: { $eq?: string; $gt?: string }) =>
  Object.keys(conditions).length === 0 ? {} : { _id: conditions }

/** Accounts as their owners and administrators see and change them. */
export class Accounts {
  readonly #parts: AccountParts

  constructor(parts: AccountParts) {
    this.#parts = parts
  }

  /** @throws NotFound */
  async get(mvUid: string): Promise<Versioned> {
    const user = await usersOf(this.#db).findOne({ _id: mvUid })
    if (!user) throw new ServiceError('NotFound')
    const [account] = await this.#accountsOf([user])
    return { account: account as Account, version: user.version }
  }

  /** All for an administrator, else the caller's own; by id. */
  async list(
    caller: Caller,
    { email, state }: { email?: string | undefined; state?: AccountState | undefined },
    { limit, cursor, count }: PageOf,
  ) {
    const visible = isAdmin(caller) ? {} : { $eq: caller.userId }
    const beyond = cursor === undefined ? {} : { $gt: decodeCursor(LIST, cursor).id }
    const matching = {
      ...(email === undefined ? {} : { email: email.toLowerCase() }),
      ...(state === undefined ? {} : inState[state]),
    }
    const total = count
      ? await usersOf(this.#db).countDocuments({ ...matching, ...onId(visible) })
      : undefined
    const found = await usersOf(this.#db)
      .find({ ...matching, ...onId({ ...visible, ...beyond }) })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const page = paged(LIST, found, limit, ({ _id }) => ({ value: null, id: _id }), total)
    return { ...page, items: await this.#accountsOf(page.items) }
  }

  /** Those with these ids or addresses that the caller may see. */
  async load(caller: Caller, mvUids: readonly string[], emails: readonly string[]): Promise<Account[]> {
    const addresses = emails.map((email) => email.toLowerCase())
    const wanted = { $or: [{ _id: { $in: [...mvUids] } }, { email: { $in: addresses } }] }
    const visible = isAdmin(caller) ? wanted : { $and: [wanted, { _id: caller.userId }] }
    return this.#accountsOf(await usersOf(this.#db).find(visible).sort({ _id: 1 }).toArray())
  }

  /**
   * Changes an account; a new address is only noted, and mailed a link.
   * @throws NotFound, Forbidden, PreconditionFailed, RuleViolated; Conflict when another one has the username
   */
  async update(caller: Caller, mvUid: string, change: Change, expected: Expected): Promise<Versioned> {
    requireAllowed(caller, mvUid, change)
    const email = change.email?.toLowerCase()
    const user = await together(this.#parts.database, (session) =>
      this.#write(session, caller, mvUid, change, expected),
    ).catch(nameTaken)
    if (change.disabled) await this.#parts.sessions.endAll(mvUid)
    if (email !== undefined) await this.#changeEmail(user, email)
    return this.get(mvUid)
  }

  get #db() {
    return this.#parts.database.db
  }

  async #accountsOf(users: readonly User[]): Promise<Account[]> {
    const ids = users.map(({ _id }) => _id)
    const [roles, pending] = await Promise.all([
      directRoles(this.#parts.database, ids, ACCOUNT_ROLES),
      this.#parts.emailChanges.pending(ids),
    ])
    return users.map((user) =>
      accountOf(user, (roles.get(user._id) ?? []) as AccountRole[], pending.get(user._id) ?? null),
    )
  }

  async #found(session: ClientSession, mvUid: string, expected: Expected): Promise<User> {
    const user = await usersOf(this.#db).findOne({ _id: mvUid }, { session })
    if (!user) throw new ServiceError('NotFound')
    requireVersion(user, expected)
    return user
  }

  async #write(
    session: ClientSession,
    caller: Caller,
    mvUid: string,
    { name, language, chatMails, username, roles, disabled }: Change,
    expected: Expected,
  ): Promise<User> {
    const { database, clock } = this.#parts
    const user = await this.#found(session, mvUid, expected)
    const set: Record<string, unknown> = { version: user.version + 1, _updated_at: clock() }
    const unset: Record<string, ''> = {}
    for (const [key, value] of Object.entries({ name, language, chatMails, username })) {
      if (value === null) unset[key] = ''
      else if (value !== undefined) set[key] = value
    }
    if (disabled !== undefined) Object.assign(set, permissionsOf(mvUid, disabled))
    await usersOf(this.#db).updateOne({ _id: mvUid }, { $set: set, $unset: unset }, { session })
    if (roles)
      for (const role of ACCOUNT_ROLES) await setRole(database, session, mvUid, role, roles.includes(role))
    const changed = [
      ...Object.keys(set).filter((key) => !['version', '_updated_at'].includes(key)),
      ...Object.keys(unset),
      ...(roles ? ['roles'] : []),
    ]
    const change = { action: 'update', user, before: withoutSecrets(user), changed } as const
    await noteChange(this.#db, session, { caller, at: clock() }, change)
    return user
  }

  /** An address that has an account is answered the same way; its owner gets a mail that says so. */
  async #changeEmail(user: User, email: string): Promise<void> {
    const { emailChanges, sendMail, links } = this.#parts
    const { language } = user
    if (email === user.email) return emailChanges.cancel(user._id)
    const link = links.activation(await emailChanges.begin(user._id, email), language, true)
    const taken = await userByEmail(this.#db, email)
    if (taken) await sendMail({ to: email, template: 'account-exists', language: taken.language, data: {} })
    else await sendMail({ to: email, template: 'confirm-address', language, data: { link } })
  }
}

function nameTaken(error: unknown): never {
  if (!isDuplicate(error)) throw error
  throw new ServiceError('Conflict', { detail: 'Account already exists for this username.' })
}

/** @throws Forbidden for what only administrators may; RuleViolated for what they may not do to themselves */
function requireAllowed(caller: Caller, mvUid: string, { roles, disabled }: AccountUpdate): void {
  if (roles === undefined && disabled === undefined) return
  if (!isAdmin(caller)) {
    throw new ServiceError('Forbidden', { detail: 'Only administrators set roles and disabled.' })
  }
  if (caller.userId !== mvUid) return
  const own = (path: string, message: string) => ({ path, code: 'own-account', message })
  const violations = [
    ...(roles && !roles.includes('admin') ? [own('roles', 'must keep your own role admin')] : []),
    ...(disabled ? [own('disabled', 'must not be set on your own account')] : []),
  ]
  if (violations.length > 0) throw new ServiceError('RuleViolated', { violations })
}

/** Nobody may read a disabled account: Parse Server then refuses its logins. */
const permissionsOf = (mvUid: string, disabled: boolean): Pick<User, '_rperm' | '_wperm' | '_acl'> =>
  disabled
    ? { _rperm: [], _wperm: [], _acl: {} }
    : { _rperm: [mvUid], _wperm: [mvUid], _acl: { [mvUid]: { r: true, w: true } } }
