import { timingSafeEqual } from 'node:crypto'
import type { Account } from '../../../schemas/accounts/account.ts'
import type { AccountRole } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { DAY_MS } from '../../../schemas/time/durations.ts'
import { findRoleHolders } from '../../ehrs/rights/roles.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Database } from '../../store/documents/database.ts'
import type { Accounts } from '../accounts.ts'
import { hashSecret, newSecret } from '../user/secret.ts'
import { findUserByEmail, toLowerCaseLogin } from '../user/user.ts'
import { INVITATION_TTL_DAYS, type Invitations } from './invitations.ts'

export interface AdministratorDependencies {
  database: Database
  accounts: Accounts
  invitations: Invitations
  clock: () => Date
}

/** The caller of commands on the machine, and of the link that is printed at the start. */
const operatorCaller: Caller = {
  userId: 'operator',
  roles: ['admin'],
  application: 'command line',
  requestId: 'command line',
}

const OFFER_TTL_MS = 3_600_000

/** Appoints and revokes administrators on behalf of the machine's operator. */
export class Administrators {
  readonly #parts: AdministratorDependencies
  /** The secret with which someone can become the first administrator; only its hash is kept. */
  #offer: { hash: Buffer; until: number } | undefined

  constructor(parts: AdministratorDependencies) {
    this.#parts = parts
  }

  /** Lists all accounts with the role, in any state. */
  async list(): Promise<Account[]> {
    const { database, accounts } = this.#parts
    const ids = await findRoleHolders(database, 'admin')
    return ids.length === 0 ? [] : accounts.findVisible(operatorCaller, ids, [])
  }

  /** Whether at least one administrator can log in. */
  async hasActiveAdministrator(): Promise<boolean> {
    return (await this.list()).some(({ state }) => state === 'ACTIVE')
  }

  /**
   * Gives the role to the account with this address; creates the account if necessary.
   * @returns the account
   * @throws Forbidden for a disabled account: only an administrator who can log in can enable it
   */
  async appoint(email: string, name: string): Promise<Account> {
    const { accounts, invitations } = this.#parts
    const account = await this.#findAccount(email)
    if (account === undefined)
      return (await invitations.create({ email, name, roles: ['admin'], invite: false })).account
    if (account.state === 'DISABLED')
      throw new ServiceError('Forbidden', {
        detail: `The account ${email} is disabled. Create an administrator with another address, who can enable it.`,
      })
    return (await accounts.update(operatorCaller, account.mvUid, { roles: addAdminRole(account) }, undefined))
      .account
  }

  /** Appoints an administrator, and mails a link for choosing a password if the account has none. */
  async invite(email: string, name: string): Promise<Account> {
    const account = await this.appoint(email, name)
    if (account.state === 'ACTIVATION_PENDING') await this.#parts.invitations.invite(account.mvUid, undefined)
    return account
  }

  /**
   * Invites the first administrator, unless one exists or an earlier invitation is still valid.
   * @returns false if the account of the address is disabled
   */
  async inviteFirst(email: string): Promise<boolean> {
    if (await this.hasActiveAdministrator()) return true
    if ((await this.#findAccount(email))?.state === 'DISABLED') return false
    const user = await findUserByEmail(this.#parts.database.db, toLowerCaseLogin(email))
    const since = this.#parts.clock().getTime() - (user?.invitedAt?.getTime() ?? 0)
    if (since < INVITATION_TTL_DAYS * DAY_MS) return true
    // If several instances start at once, one creates the account.
    await this.invite(email, 'Administrator').catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
    })
    return true
  }

  /** @throws NotFound when the address has no account */
  async revoke(email: string): Promise<void> {
    const { mvUid, roles } = await this.#requireAccount(email)
    const otherRoles = roles.filter((role) => role !== 'admin')
    await this.#parts.accounts.update(operatorCaller, mvUid, { roles: otherRoles }, undefined)
  }

  /** Ends all sessions and blocks further logins. @throws NotFound when the address has no account */
  async disable(email: string): Promise<void> {
    const { mvUid } = await this.#requireAccount(email)
    await this.#parts.accounts.update(operatorCaller, mvUid, { disabled: true }, undefined)
  }

  /** @returns a secret with which someone can become the first administrator within an hour */
  createOffer(): string {
    const secret = newSecret()
    const until = this.#parts.clock().getTime() + OFFER_TTL_MS
    this.#offer = { hash: Buffer.from(hashSecret(secret)), until }
    return secret
  }

  /** Whether the secret is right, and there still is no administrator. */
  async isValidOffer(secret: string): Promise<boolean> {
    const { hash, until } = this.#offer ?? {}
    if (!hash || !until || until <= this.#parts.clock().getTime()) return false
    return timingSafeEqual(hash, Buffer.from(hashSecret(secret))) && !(await this.hasActiveAdministrator())
  }

  /**
   * Makes the account of this address the first administrator; the caller has verified the secret.
   * @returns the token for choosing a password; undefined when the account has one
   */
  async acceptOffer(email: string) {
    const { mvUid, state } = await this.appoint(email, 'Administrator')
    return state === 'ACTIVATION_PENDING' ? this.#parts.invitations.createLinkToken(mvUid) : undefined
  }

  async #findAccount(email: string): Promise<Account | undefined> {
    const user = await findUserByEmail(this.#parts.database.db, toLowerCaseLogin(email))
    return user ? (await this.#parts.accounts.get(user._id)).account : undefined
  }

  async #requireAccount(email: string): Promise<Account> {
    const account = await this.#findAccount(email)
    if (!account)
      throw new ServiceError('NotFound', { detail: `There is no account with the address ${email}.` })
    return account
  }
}

const addAdminRole = ({ roles }: Account): AccountRole[] => [...new Set([...roles, 'admin' as const])]
