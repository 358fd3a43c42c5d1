import type { Db } from 'mongodb'
import type { Registration } from '../../schemas/account.ts'
import type { AccountState } from '../../schemas/enum.ts'
import { ServiceError } from '../../schemas/errors.ts'
import type { EmailChanges } from './email-changes.ts'
import type { Background } from './user/background.ts'
import type { Credentials } from './user/credentials.ts'
import type { SendMail } from './user/mails.ts'
import { passwordViolations, requireNone } from './user/password-policy.ts'
import { stateOf, type User, userByEmail, usersOf } from './user/user.ts'

export interface RegistrationParts {
  db: Db
  credentials: Credentials
  emailChanges: EmailChanges
  sendMail: SendMail
  background: Background
  /** The version of the terms of service that a person agrees to now. */
  termsVersion: string
  clock: () => Date
}

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
    const violations = passwordViolations(registration.password, 'body.password', registration.email)
    requireNone([...violations, ...termsViolations(registration.termsAccepted)])
    this.#parts.background.run(() =>
      this.#signUp({ ...registration, email: registration.email.toLowerCase() }),
    )
  }

  /** Mails a new link to one who has registered and not followed the first one. */
  resend(email: string): void {
    const address = email.toLowerCase()
    this.#parts.background.run(async () => {
      const user = await userByEmail(this.#parts.db, address)
      if (user && isWaiting(user)) await this.#parts.credentials.resendActivation(address)
    })
  }

  /** Follows the link of a registration, or of a new address. @throws LinkExpired, Conflict */
  async activate(token: string): Promise<{ mvUid: string; email: string; state: AccountState }> {
    const { credentials, db } = this.#parts
    const mvUid = (await credentials.activate(token)) ?? (await this.#confirmChange(token))
    const user = mvUid === undefined ? null : await usersOf(db).findOne({ _id: mvUid })
    if (!user) {
      throw new ServiceError('LinkExpired', {
        detail: 'Ask for a new link: POST /auth/account/register/resend.',
      })
    }
    return { mvUid: user._id, email: user.email, state: stateOf(user) }
  }

  async #signUp(registration: Registration): Promise<void> {
    const { email, password, name, language } = registration
    const { credentials, termsVersion, db } = this.#parts
    try {
      await credentials.signUp({ email, password, name, language, termsVersion })
    } catch (error) {
      if (!(error instanceof ServiceError && error.error === 'Conflict')) throw error
      const user = await userByEmail(db, email)
      if (user && isWaiting(user)) await this.#registerAnew(user, registration)
      else await this.#tellExists(email, user?.language ?? language)
    }
  }

  /**
   * The last registration before the activation counts, with a link of its own: whoever registered someone else's
   * address before must not end up with the password of his account.
   */
  async #registerAnew(user: User, { email, password, name, language }: Registration): Promise<void> {
    const { credentials, db, termsVersion, clock } = this.#parts
    await credentials.changePassword(user._id, password).catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.error === 'RuleViolated')) throw error
    })
    const now = clock()
    const known = { ...(name === undefined ? {} : { name }), ...(language === undefined ? {} : { language }) }
    await usersOf(db).updateOne(
      { _id: user._id },
      { $set: { ...known, termsVersion, termsAcceptedAt: now, _updated_at: now }, $inc: { version: 1 } },
    )
    await credentials.resendActivation(email)
  }

  #tellExists(email: string, language: string | undefined): Promise<void> {
    return this.#parts.sendMail({ to: email, template: 'account-exists', language, data: {} })
  }

  async #confirmChange(token: string): Promise<string | undefined> {
    const { emailChanges, sendMail, db } = this.#parts
    const confirmed = await emailChanges.confirm(token)
    if (!confirmed) return undefined
    const user = await usersOf(db).findOne({ _id: confirmed.mvUid })
    await sendMail({
      to: confirmed.formerEmail,
      template: 'address-changed',
      language: user?.language,
      data: { newEmail: user?.email ?? '' },
    })
    return confirmed.mvUid
  }
}

/** Registered by himself, and the link not followed yet. */
const isWaiting = (user: User): boolean =>
  stateOf(user) === 'ACTIVATION_PENDING' && user.invitedAt === undefined

/** What is wrong with an agreement to the terms of service. */
export const termsViolations = (accepted: boolean | undefined) =>
  accepted === true
    ? []
    : [{ path: 'body.termsAccepted', code: 'terms-not-accepted', message: 'must be true' }]
