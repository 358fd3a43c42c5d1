import type { Registration } from '../../schemas/account.ts'
import type { AccountState } from '../../schemas/enum.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { Violation } from '../../schemas/violation.ts'
import type { Background } from '../store/batching/background.ts'
import type { Database } from '../store/documents/database.ts'
import type { EmailChanges } from './email-changes.ts'
import type { Removals } from './removals.ts'
import { activate, termsViolations } from './user/activation.ts'
import type { Credentials, NewAccount } from './user/credentials.ts'
import type { SendMail } from './user/mails.ts'
import { passwordViolations, requireNone } from './user/password-policy.ts'
import { stateOf, type User, userByEmail, usernameViolations, usersOf } from './user/user.ts'

export interface RegistrationParts {
  database: Database
  credentials: Credentials
  emailChanges: EmailChanges
  removals: Removals
  sendMail: SendMail
  background: Background
  /** The version of the terms of service that a person agrees to now. */
  termsVersion: string
  clock: () => Date
}

/** What the class family may say besides: a name to log in with, and the agreement to the terms only when activating. */
export interface SignUp extends Registration {
  username?: string | undefined
  /** The id that the answer has named. */
  id: string
}

/** How often an address is tried again that others register at the same time. */
const attempts = 5

/** How a person gets an account. Nothing here tells whether an address has one. */
export class Registrations {
  readonly #parts: RegistrationParts

  constructor(parts: RegistrationParts) {
    this.#parts = parts
  }

  /**
   * Judges what was sent, and leaves the rest for after the answer.
   * @throws RuleViolated by the password, or without agreement to the terms
   */
  register(registration: Registration): void {
    this.#register(registration, termsViolations(registration.termsAccepted))
  }

  /**
   * The same for the class family, where the agreement may be given with the activation.
   * @throws RuleViolated; Conflict when another one has the username, which is no address
   */
  async signUp(wanted: SignUp): Promise<void> {
    const { username, email, password } = wanted
    const holdsName = username !== undefined && password.toLowerCase().includes(username)
    await this.#requireFree(username)
    this.#register(wanted, [
      ...usernameViolations(username, email),
      ...(holdsName ? [{ path: 'password', code: 'password-contains-name', message: nameInPassword }] : []),
    ])
  }

  /** Mails a new link to one who has registered and not followed the first one. */
  resend(email: string): void {
    const address = email.toLowerCase()
    this.#parts.background.run(async () => {
      const user = await userByEmail(this.#parts.database.db, address)
      if (user && isWaiting(user)) await this.#parts.credentials.resendActivation(address)
    })
  }

  /**
   * Follows the link of a registration, or of a new address.
   * @throws LinkExpired; Conflict; RuleViolated without agreement to the terms: the link still works then
   */
  async activate(
    token: string,
    termsAccepted: boolean | undefined,
  ): Promise<{ mvUid: string; email: string; state: AccountState }> {
    const users = usersOf(this.#parts.database.db)
    const mvUid = (await this.#activate(token, termsAccepted)) ?? (await this.#confirmChange(token))
    const user = mvUid === undefined ? null : await users.findOne({ _id: mvUid })
    if (!user) {
      throw new ServiceError('LinkExpired')
    }
    return { mvUid: user._id, email: user.email, state: stateOf(user) }
  }

  /** Whether the link of a registration, or of a new address, still works. */
  async isValid(token: string): Promise<boolean> {
    const { database, emailChanges } = this.#parts
    const waiting = await usersOf(database.db).findOne(this.#waiting(token), { projection: { _id: 1 } })
    return waiting !== null || emailChanges.isValid(token)
  }

  #waiting(token: string) {
    const _email_verify_token_expires_at = { $gt: this.#parts.clock() }
    return { _email_verify_token: token, _email_verify_token_expires_at, emailVerified: { $ne: true } }
  }

  /** Usernames are public, addresses are not: nothing is revealed about a username that is an address. */
  async #requireFree(username: string | undefined): Promise<void> {
    if (username === undefined || username.includes('@')) return
    const holder = await usersOf(this.#parts.database.db).findOne({ username })
    if (holder && stateOf(holder) !== 'ACTIVATION_PENDING')
      throw new ServiceError('Conflict', { detail: 'Account already exists for this username.' })
  }

  #register(wanted: Registration & Partial<SignUp>, more: readonly Violation[]): void {
    requireNone([...passwordViolations(wanted.password, 'password', wanted.email), ...more])
    const { termsAccepted, ...account } = wanted
    this.#parts.background.run(() => {
      const terms = termsAccepted === true ? { termsVersion: this.#parts.termsVersion } : {}
      return this.#begin({ ...account, ...terms, email: wanted.email.toLowerCase() })
    })
  }

  /** What somebody has begun under the address before is gone then, whoever it was, with all that it could open. */
  async #begin(account: NewAccount, left = attempts): Promise<void> {
    const { credentials, removals, database } = this.#parts
    try {
      await credentials.signUp(account)
    } catch (error) {
      if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
      // Others register the same address without end: what one of them has begun stands, with its mail.
      if (left === 0) return
      const user = await userByEmail(database.db, account.email)
      if (!user) await this.#begin(await this.#withFreeName(account), left - 1)
      else if (await removals.removeHalfRegistered(user._id)) await this.#begin(account, left - 1)
      else await this.#tellExists(account.email, user.language ?? account.language)
    }
  }

  /** A name that somebody has taken meanwhile stays theirs: the address is one's own. */
  async #withFreeName({ username: _, ...account }: NewAccount): Promise<NewAccount> {
    const { email } = account
    const users = usersOf(this.#parts.database.db)
    const squatters = await users.find({ username: email, email: { $ne: email } }).toArray()
    for (const { _id, email: own } of squatters) await users.updateOne({ _id }, { $set: { username: own } })
    return account
  }

  #tellExists(email: string, language: string | undefined): Promise<void> {
    return this.#parts.sendMail({ to: email, template: 'account-exists', language, data: {} })
  }

  async #activate(token: string, termsAccepted: boolean | undefined): Promise<string | undefined> {
    const { database, termsVersion, clock } = this.#parts
    const user = await usersOf(database.db).findOne(this.#waiting(token))
    if (!user) return undefined
    if (user.termsVersion === undefined) requireNone(termsViolations(termsAccepted))
    const done = await activate(
      database.db,
      user,
      { termsVersion, now: clock() },
      { _email_verify_token: token },
    )
    return done ? user._id : undefined
  }

  async #confirmChange(token: string): Promise<string | undefined> {
    const { emailChanges, sendMail, database } = this.#parts
    const confirmed = await emailChanges.confirm(token)
    if (!confirmed) return undefined
    const user = await usersOf(database.db).findOne({ _id: confirmed.mvUid })
    await sendMail({
      to: confirmed.formerEmail,
      template: 'address-changed',
      language: user?.language,
      data: { newEmail: user?.email ?? '' },
    })
    return confirmed.mvUid
  }
}

const nameInPassword = 'must not contain the username'

/** Registered in person, and the link not followed yet. */
const isWaiting = (user: User): boolean =>
  stateOf(user) === 'ACTIVATION_PENDING' && user.invitedAt === undefined
