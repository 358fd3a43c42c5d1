import type { Registration } from '../../../schemas/accounts/account.ts'
import type { AccountState } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import { hashedKey, type RateLimiter } from '../../limits/rate-limiter.ts'
import type { Database } from '../../store/documents/database.ts'
import { newId } from '../../store/documents/ids.ts'
import type { AccountDeletion } from '../account-deletion.ts'
import type { Invitations } from '../administration/invitations.ts'
import type { BackgroundTasks } from '../background-tasks.ts'
import type { EmailChanges } from '../email-changes.ts'
import { activateAccount, termsViolations } from '../user/activation.ts'
import type { Credentials, NewAccount } from '../user/credentials.ts'
import type { SendMail } from '../user/mails.ts'
import { passwordViolations } from '../user/password-policy.ts'
import {
  accountStateOf,
  findUserByEmail,
  toLowerCaseLogin,
  type User,
  usernameViolations,
  usersOf,
} from '../user/user.ts'
import type { RepeatedRegistrations } from './repeated-registrations.ts'

export interface RegistrationDependencies {
  database: Database
  credentials: Credentials
  emailChanges: EmailChanges
  repeated: RepeatedRegistrations
  accountDeletion: AccountDeletion
  invitations: Pick<Invitations, 'invite'>
  sendMail: SendMail
  background: BackgroundTasks
  consume: RateLimiter
  /** The version of the published terms of service; undefined if there are none, then nobody agrees. */
  termsVersion: string | undefined
  clock: () => Date
}

/**
 * The additional fields of the class family: a username, and agreement to the terms as late as at activation.
 */
export interface SignUpRequest extends Registration {
  username?: string | undefined
  /** The id that the response has named. */
  id: string
}

/** The input of the person who follows a link, besides its token. */
export interface ActivationProof {
  termsAccepted?: boolean | undefined
  /** Needed if the address was registered repeatedly. */
  password?: string | undefined
}

type NewAccountWithId = NewAccount & { id: string }

/** Retries for an address that others register at the same time. */
const MAX_SIGN_UP_RETRIES = 5

/** Registration and activation. Nothing here reveals which addresses have accounts. */
export class Registrations {
  readonly #parts: RegistrationDependencies
  readonly #signUpLater: (account: NewAccountWithId) => Promise<void>
  readonly #resendLater: (address: string) => Promise<void>

  constructor(parts: RegistrationDependencies) {
    this.#parts = parts
    this.#signUpLater = parts.background.define('signUp', (account) => this.#signUp(account))
    this.#resendLater = parts.background.define('resendActivation', (address) => this.#resend(address))
  }

  /**
   * Validates the request, and registers after the response has been sent.
   * @throws RuleViolated for the password, or without agreement to the terms
   */
  register(registration: Registration): Promise<void> {
    return this.#register(registration, termsViolations(this.#parts.termsVersion, registration.termsAccepted))
  }

  /**
   * Registers through the class family, which may send the agreement to the terms with the activation.
   * @throws RuleViolated; Conflict when another account has the username, unless it looks like an address
   */
  async signUp(request: SignUpRequest): Promise<void> {
    const { username, email, password } = request
    const holdsName = username !== undefined && password.toLowerCase().includes(username)
    await this.#requireFree(username)
    await this.#register(request, [
      ...usernameViolations(username, email),
      ...(holdsName
        ? [{ path: 'password', code: 'password-contains-name', message: NAME_IN_PASSWORD_MESSAGE }]
        : []),
    ])
  }

  /** Mails a new link if the account still waits for its activation: an invitation to those who are invited. */
  resend(email: string): Promise<void> {
    return this.#resendLater(toLowerCaseLogin(email))
  }

  /**
   * Follows the link of a registration or of a new address.
   * @throws LinkExpired; Conflict; RuleViolated without agreement to the terms, or without the password if the
   * address was registered repeatedly: the link then stays valid
   */
  async activate(
    token: string,
    proof: ActivationProof,
  ): Promise<{ mvUid: string; email: string; state: AccountState }> {
    const users = usersOf(this.#parts.database.db)
    const mvUid = (await this.#activate(token, proof)) ?? (await this.#confirmChange(token, proof))
    const user = mvUid === undefined ? null : await users.findOne({ _id: mvUid })
    if (!user) {
      throw new ServiceError('LinkExpired')
    }
    return { mvUid: user._id, email: user.email, state: accountStateOf(user) }
  }

  /** Whether the link of a registration or of a new address is still valid, and needs the password. */
  async findLink(token: string): Promise<{ isValid: boolean; needsPassword: boolean }> {
    const { database, emailChanges, repeated } = this.#parts
    const user = await usersOf(database.db).findOne(this.#pendingActivationFilter(token))
    if (user) return { isValid: true, needsPassword: await repeated.has(user.email) }
    return { isValid: await emailChanges.isValid(token), needsPassword: false }
  }

  #pendingActivationFilter(token: string) {
    const _email_verify_token_expires_at = { $gt: this.#parts.clock() }
    return { _email_verify_token: token, _email_verify_token_expires_at, emailVerified: { $ne: true } }
  }

  /**
   * Usernames are public, addresses are not: for a username that looks like an address nothing is revealed.
   */
  async #requireFree(username: string | undefined): Promise<void> {
    if (username === undefined || username.includes('@')) return
    const user = await usersOf(this.#parts.database.db).findOne({ username })
    if (user && accountStateOf(user) !== 'ACTIVATION_PENDING')
      throw new ServiceError('Conflict', { detail: 'Account already exists for this username.' })
  }

  async #register(request: Registration & Partial<SignUpRequest>, more: readonly Violation[]): Promise<void> {
    requireNoViolations([...passwordViolations(request.password, 'password', request.email), ...more])
    const { termsAccepted, ...account } = request
    const { termsVersion } = this.#parts
    const terms = termsAccepted === true && termsVersion !== undefined ? { termsVersion } : {}
    await this.#signUpLater({ id: newId(), ...account, ...terms, email: toLowerCaseLogin(request.email) })
  }

  async #signUp(account: NewAccountWithId): Promise<void> {
    const { database, credentials } = this.#parts
    const user = await usersOf(database.db).findOne({ _id: account.id })
    if (!(await this.#reserveMail(account.email))) return
    if (!user) await this.#signUpOrReplace(account)
    // An interrupted attempt has created the account, perhaps without its mail.
    else if (accountStateOf(user) === 'ACTIVATION_PENDING') await credentials.resendActivation(account.email)
  }

  async #resend(address: string): Promise<void> {
    const { database, credentials, invitations } = this.#parts
    const user = await findUserByEmail(database.db, address)
    if (!user || accountStateOf(user) !== 'ACTIVATION_PENDING') return
    if (!(await this.#reserveMail(address))) return
    if (user.invitedAt) await invitations.invite(user._id, undefined, true)
    else await credentials.resendActivation(address)
  }

  /**
   * Counts a mail before it is sent.
   * @returns false if the reader has got too many: the mail would be dropped, and its link must not replace one that was mailed
   */
  async #reserveMail(email: string): Promise<boolean> {
    try {
      await this.#parts.consume('mail', hashedKey(email))
      return true
    } catch (error) {
      if (error instanceof ServiceError && error.error === 'TooManyRequests') return false
      throw error
    }
  }

  /**
   * Registers an account. An abandoned registration of the same address is deleted first, with its links and
   * tokens.
   */
  async #signUpOrReplace(account: NewAccount, left = MAX_SIGN_UP_RETRIES): Promise<void> {
    const { credentials, accountDeletion, database, repeated } = this.#parts
    try {
      await credentials.signUp(account)
    } catch (error) {
      if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
      // Others keep registering the same address; the registration of one of them stays valid, with its mail.
      if (left === 0) return
      const user = await findUserByEmail(database.db, account.email)
      if (user) await repeated.record(account.email)
      if (!user) await this.#signUpOrReplace(await this.#withFreeName(account), left - 1)
      else if (await accountDeletion.removeAbandonedRegistration(user._id))
        await this.#signUpOrReplace(account, left - 1)
      else await this.#mailAccountExists(account.email, user.language ?? account.language)
    }
  }

  /**
   * Drops the username, which was taken meanwhile. Frees an address that others use as username: it is its
   * owner's.
   */
  async #withFreeName({ username: _, ...account }: NewAccount): Promise<NewAccount> {
    const { email } = account
    const users = usersOf(this.#parts.database.db)
    const squatters = await users.find({ username: email, email: { $ne: email } }).toArray()
    for (const { _id, email: username } of squatters) await users.updateOne({ _id }, { $set: { username } })
    return account
  }

  #mailAccountExists(email: string, language: string | undefined): Promise<void> {
    return this.#parts.sendMail({ to: email, template: 'account-exists', language, counted: true, data: {} })
  }

  async #activate(token: string, proof: ActivationProof): Promise<string | undefined> {
    const { database, termsVersion, clock } = this.#parts
    const user = await usersOf(database.db).findOne(this.#pendingActivationFilter(token))
    if (!user) return undefined
    requireNoViolations([
      ...(await this.#passwordViolations(user, proof.password)),
      ...(user.termsVersion === undefined ? termsViolations(termsVersion, proof.termsAccepted) : []),
    ])
    const isActivated = await activateAccount(
      database.db,
      user,
      { termsVersion, now: clock() },
      { _email_verify_token: token },
    )
    return isActivated ? user._id : undefined
  }

  async #passwordViolations({ _id, email }: User, password: string | undefined): Promise<Violation[]> {
    const { credentials, repeated } = this.#parts
    if (!(await repeated.has(email))) return []
    if (password === undefined || password === '') return [PASSWORD_MISSING]
    return (await credentials.matchesPassword(_id, password)) ? [] : [PASSWORD_WRONG]
  }

  async #confirmChange(token: string, { termsAccepted }: ActivationProof): Promise<string | undefined> {
    const { emailChanges, sendMail, database, termsVersion } = this.#parts
    const emailChange = await emailChanges.confirm(token, { termsVersion, termsAccepted })
    if (!emailChange) return undefined
    const user = await usersOf(database.db).findOne({ _id: emailChange.mvUid })
    await sendMail({
      to: emailChange.formerEmail,
      template: 'address-changed',
      language: user?.language,
      data: { newEmail: user?.email ?? '' },
    })
    return emailChange.mvUid
  }
}

const PASSWORD_MISSING: Violation = {
  path: 'password',
  code: 'password-required',
  message: 'is required, since the address has been registered more than once',
}
const PASSWORD_WRONG: Violation = {
  path: 'password',
  code: 'wrong-password',
  message: 'is not the one of the last registration; register again, or ask for a new password',
}

const NAME_IN_PASSWORD_MESSAGE = 'must not contain the username'
