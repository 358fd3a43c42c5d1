import { timingSafeEqual } from 'node:crypto'
import type { Account } from '../../../schemas/account.ts'
import type { AccountRole } from '../../../schemas/enum.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { holdersOf } from '../../ehrs/rights/roles.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Database } from '../../store/documents/database.ts'
import type { Accounts } from '../accounts.ts'
import { hashOf, newSecret } from '../user/secret.ts'
import { userByEmail } from '../user/user.ts'
import { type Invitations, invitationDays } from './invitations.ts'

export interface AdministratorParts {
  database: Database
  accounts: Accounts
  invitations: Invitations
  clock: () => Date
}

/** Whoever may run commands on the machine, or has been handed the link that the start has printed. */
const operator: Caller = {
  userId: 'operator',
  roles: ['admin'],
  application: 'command line',
  requestId: 'command line',
}

const OFFER_MS = 3_600_000
const DAY_MS = 86_400_000

/** Those who run the service for others, as the operator of its machine makes and unmakes them. */
export class Administrators {
  readonly #parts: AdministratorParts
  /** What lets somebody become the first one; only its hash is kept. */
  #offer: { hash: Buffer; until: number } | undefined

  constructor(parts: AdministratorParts) {
    this.#parts = parts
  }

  /** Everybody who has the role, whatever the state of the account. */
  async list(): Promise<Account[]> {
    const { database, accounts } = this.#parts
    const ids = await holdersOf(database, 'admin')
    return ids.length === 0 ? [] : accounts.load(operator, ids, [])
  }

  /** Whether there is one who can log in. */
  async isThereOne(): Promise<boolean> {
    return (await this.list()).some(({ state }) => state === 'ACTIVE')
  }

  /** Gives the role to the account of an address, which is made when there is none. @returns the account */
  async appoint(email: string, name: string): Promise<Account> {
    const { accounts, invitations } = this.#parts
    const known = await this.#accountOf(email)
    if (known === undefined)
      return (await invitations.create({ email, name, roles: ['admin'], invite: false })).account
    return (await accounts.update(operator, known.mvUid, { roles: withAdmin(known) }, undefined)).account
  }

  /** The same, and mails a link to choose a password to one who has none. */
  async invite(email: string, name: string): Promise<Account> {
    const account = await this.appoint(email, name)
    if (account.state === 'ACTIVATION_PENDING') await this.#parts.invitations.invite(account.mvUid, undefined)
    return account
  }

  /** Invites the first one, unless that has been done and the invitation is still good. */
  async inviteFirst(email: string): Promise<void> {
    if (await this.isThereOne()) return
    const user = await userByEmail(this.#parts.database.db, email.toLowerCase())
    const since = this.#parts.clock().getTime() - (user?.invitedAt?.getTime() ?? 0)
    if (since < invitationDays * DAY_MS) return
    // Of several instances that start at once one makes the account.
    await this.invite(email, 'Administrator').catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
    })
  }

  /** @throws NotFound when the address has no account */
  async revoke(email: string): Promise<void> {
    const { mvUid, roles } = await this.#known(email)
    const left = roles.filter((role) => role !== 'admin')
    await this.#parts.accounts.update(operator, mvUid, { roles: left }, undefined)
  }

  /** Ends all sessions, and lets nobody log in any more. @throws NotFound when the address has no account */
  async disable(email: string): Promise<void> {
    const { mvUid } = await this.#known(email)
    await this.#parts.accounts.update(operator, mvUid, { disabled: true }, undefined)
  }

  /** @returns a secret with which somebody can become the first one within an hour */
  offer(): string {
    const secret = newSecret()
    const until = this.#parts.clock().getTime() + OFFER_MS
    this.#offer = { hash: Buffer.from(hashOf(secret)), until }
    return secret
  }

  /** Whether that is the secret, and there is still nobody. */
  async isOffered(secret: string): Promise<boolean> {
    const { hash, until } = this.#offer ?? {}
    if (!hash || !until || until <= this.#parts.clock().getTime()) return false
    return timingSafeEqual(hash, Buffer.from(hashOf(secret))) && !(await this.isThereOne())
  }

  /**
   * Makes the first one, for whoever has shown the secret.
   * @returns the token to choose a password with; undefined when the account has one
   */
  async acceptOffer(email: string) {
    const { mvUid, state } = await this.appoint(email, 'Administrator')
    return state === 'ACTIVATION_PENDING' ? this.#parts.invitations.tokenFor(mvUid) : undefined
  }

  async #accountOf(email: string): Promise<Account | undefined> {
    const user = await userByEmail(this.#parts.database.db, email.toLowerCase())
    return user ? (await this.#parts.accounts.get(user._id)).account : undefined
  }

  async #known(email: string): Promise<Account> {
    const account = await this.#accountOf(email)
    if (!account) throw new ServiceError('NotFound', { detail: `${email} has no account.` })
    return account
  }
}

const withAdmin = ({ roles }: Account): AccountRole[] => [...new Set([...roles, 'admin' as const])]
