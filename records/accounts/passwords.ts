import type { Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { requireNoViolations } from '../ehr-records/refusals/refusals.ts'
import type { BackgroundTasks } from './background-tasks.ts'
import type { Identities } from './login/identities.ts'
import type { LoginLockout } from './login/login-lockout.ts'
import type { SessionGuesses } from './login/session-guesses.ts'
import type { Sessions } from './login/sessions.ts'
import { activateAccount, termsViolations } from './user/activation.ts'
import type { Credentials } from './user/credentials.ts'
import { passwordViolations } from './user/password-policy.ts'
import { findActiveUser, toLowerCaseLogin, usersOf } from './user/user.ts'

export interface PasswordDependencies {
  db: Db
  credentials: Credentials
  sessions: Sessions
  guesses: SessionGuesses
  lockout: LoginLockout
  identities: Identities
  background: BackgroundTasks
  /** The version of the published terms of service; undefined if there are none. */
  termsVersion: string | undefined
  clock: () => Date
}

export class Passwords {
  readonly #parts: PasswordDependencies
  readonly #sendResetLater: (address: string) => Promise<void>

  constructor(parts: PasswordDependencies) {
    this.#parts = parts
    const { background, credentials } = parts
    this.#sendResetLater = background.define('sendPasswordReset', credentials.sendPasswordReset)
  }

  /** Mails a link if the account exists; the response is the same if it does not. */
  requestReset(email: string): Promise<void> {
    return this.#sendResetLater(toLowerCaseLogin(email))
  }

  /** Whether the token of a mailed link is still valid. */
  async isValid(token: string): Promise<boolean> {
    const options = { projection: { _id: 1 } }
    return (await usersOf(this.#parts.db).findOne(this.#validTokenFilter(token), options)) !== null
  }

  #validTokenFilter(token: string): object {
    return { _perishable_token: token, _perishable_token_expires_at: { $gt: this.#parts.clock() } }
  }

  /**
   * Sets a password by the token of a mailed link, ends all sessions and unlinks external identities. The token proves access to the
   * mailbox, so an account that waited for its activation is activated.
   * @throws LinkExpired; RuleViolated for the password, or when the terms have not been agreed to
   */
  async chooseByToken(token: string, newPassword: string, termsAccepted: boolean | undefined): Promise<void> {
    const { credentials, identities, lockout, termsVersion, clock, db } = this.#parts
    const user = await usersOf(db).findOne(this.#validTokenFilter(token))
    if (!user) throw new ServiceError('LinkExpired')
    requireNoViolations([
      ...passwordViolations(newPassword, 'newPassword', user.email),
      ...(user.termsVersion === undefined ? termsViolations(termsVersion, termsAccepted) : []),
    ])
    const reset = async () => {
      await credentials.requireAllowedPassword(user._id, newPassword)
      // Before the sessions end, so that none begins meanwhile.
      await identities.unlinkAll(user._id)
      await credentials.resetPassword(token, newPassword)
    }
    await reset().catch(async (fault: unknown) => {
      const isRefused = fault instanceof ServiceError && fault.error === 'RuleViolated'
      // If two requests use the token at once, the first has just set this password, so Parse refuses it as a
      // recent one.
      throw isRefused && !(await this.isValid(token)) ? new ServiceError('LinkExpired') : fault
    })
    await activateAccount(db, user, { termsVersion, now: clock() })
    await lockout.clear(user.email)
  }

  /**
   * Sets a password by the current one; ends all sessions but this one.
   * @throws WrongPassword, AccountLocked, RuleViolated
   */
  async changePassword(
    mvUid: string,
    sid: string,
    currentPassword: string,
    newPassword: string,
  ): Promise<void> {
    await this.verifyPassword(mvUid, sid, currentPassword)
    await this.requireAllowed(mvUid, newPassword)
    await this.setPassword(mvUid, sid, newPassword)
  }

  /**
   * Requires a password that a user can set, before anything changes.
   * @param username the new username, if that changes, too
   * @throws RuleViolated
   */
  async requireAllowed(mvUid: string, newPassword: string, username?: string): Promise<void> {
    const { credentials, db } = this.#parts
    const user = await usersOf(db).findOne({ _id: mvUid })
    requireNoViolations(passwordViolations(newPassword, 'newPassword', user?.email))
    await credentials.requireAllowedPassword(mvUid, newPassword, username)
  }

  /**
   * Sets an allowed password of a user who has given proof of their identity; ends all other sessions and
   * unlinks external identities.
   */
  async setPassword(mvUid: string, sid: string, newPassword: string): Promise<void> {
    const { credentials, identities, sessions, db } = this.#parts
    await identities.unlinkAll(mvUid, { keptSid: sid })
    await sessions.keepSessionDuring(sid, () => credentials.changePassword(mvUid, newPassword))
    // Another change may have ended all sessions before this one returned.
    const activeUser = await findActiveUser(db, mvUid)
    if (!activeUser || !(await credentials.matchesPassword(mvUid, newPassword))) await sessions.revoke(sid)
  }

  /**
   * Requires proof that the caller is the person, not somebody at their device: the current password, or a
   * login within the last minutes.
   * @throws PasswordRequired, WrongPassword, AccountLocked
   */
  async requireProof(mvUid: string, sid: string, currentPassword: string | undefined): Promise<void> {
    if (currentPassword !== undefined) await this.verifyPassword(mvUid, sid, currentPassword)
    else if (!(await this.#parts.sessions.isFresh(sid))) throw new ServiceError('PasswordRequired')
  }

  /**
   * Requires the right password of a person who is logged in. Wrong passwords of others, which lock logins, do
   * not matter here.
   * @throws WrongPassword, AccountLocked
   */
  async verifyPassword(mvUid: string, sid: string, password: string): Promise<void> {
    const { credentials, guesses } = this.#parts
    await guesses.count(sid)
    if (!(await credentials.matchesPassword(mvUid, password))) throw new ServiceError('WrongPassword')
    await guesses.clear(sid)
  }
}
