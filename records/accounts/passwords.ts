import type { Db } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Background } from '../store/batching/background.ts'
import type { Sessions } from './login/sessions.ts'
import { activate, termsViolations } from './user/activation.ts'
import type { Credentials } from './user/credentials.ts'
import { passwordViolations, requireNone } from './user/password-policy.ts'
import { type User, usersOf } from './user/user.ts'

export interface PasswordParts {
  db: Db
  credentials: Credentials
  sessions: Sessions
  background: Background
  termsVersion: string
  clock: () => Date
}

/** How a person gets another password. */
export class Passwords {
  readonly #parts: PasswordParts

  constructor(parts: PasswordParts) {
    this.#parts = parts
  }

  /** Mails a link, if there is such an account; the answer does not tell. */
  reset(email: string): void {
    const { background, credentials } = this.#parts
    background.run(() => credentials.sendReset(email.toLowerCase()))
  }

  /** Whether the token of a mailed link still works. */
  async isValid(token: string): Promise<boolean> {
    const { db, clock } = this.#parts
    const valid = { _perishable_token: token, _perishable_token_expires_at: { $gt: clock() } }
    return (await usersOf(db).findOne(valid as object, { projection: { _id: 1 } })) !== null
  }

  /**
   * Sets a password by the token of a mailed link; all sessions end. Who could read the mail has shown that the
   * address is theirs: an account that waited for that is activated.
   * @throws LinkExpired; RuleViolated by the password, or when the terms have not been agreed to
   */
  async chooseByToken(token: string, newPassword: string, termsAccepted: boolean | undefined): Promise<void> {
    const { credentials, termsVersion, clock, db } = this.#parts
    const user = await usersOf(db).findOne({ _perishable_token: token } as object)
    if (!user) throw new ServiceError('LinkExpired')
    requireNone([
      ...passwordViolations(newPassword, 'newPassword', user.email),
      ...(user.termsVersion === undefined ? termsViolations(termsAccepted) : []),
    ])
    await credentials.resetPassword(token, newPassword).catch(async (fault: unknown) => {
      const isRefused = fault instanceof ServiceError && fault.error === 'RuleViolated'
      // Of two who use it at once, one has just chosen this very password.
      throw isRefused && !(await this.isValid(token)) ? new ServiceError('LinkExpired') : fault
    })
    await activate(db, user, { termsVersion, now: clock() })
  }

  /** Sets a password by the present one; all sessions but this one end. @throws WrongPassword, RuleViolated */
  async change(mvUid: string, sid: string, currentPassword: string, newPassword: string): Promise<void> {
    await this.confirm(mvUid, currentPassword)
    await this.set(mvUid, sid, newPassword)
  }

  /** The same for somebody whose proof has been seen. @throws RuleViolated */
  async set(mvUid: string, sid: string, newPassword: string): Promise<void> {
    const { credentials, sessions, db } = this.#parts
    const user = await usersOf(db).findOne({ _id: mvUid })
    requireNone(passwordViolations(newPassword, 'newPassword', user?.email))
    await sessions.sparing(sid, () => credentials.changePassword(mvUid, newPassword))
  }

  /**
   * Makes sure that it is the person, not somebody at their device: by the present password, or by a login of the last
   * minutes. @throws PasswordRequired, WrongPassword, AccountLocked
   */
  async requireProof(mvUid: string, sid: string, currentPassword: string | undefined): Promise<void> {
    if (currentPassword !== undefined) await this.confirm(mvUid, currentPassword)
    else if (!(await this.#parts.sessions.isFresh(sid))) throw new ServiceError('PasswordRequired')
  }

  /** Makes sure that it is the person. @throws WrongPassword, AccountLocked */
  async confirm(mvUid: string, password: string): Promise<User> {
    const { credentials, db } = this.#parts
    const user = await usersOf(db).findOne({ _id: mvUid })
    if (!user) throw new ServiceError('NotFound')
    await credentials.checkPassword(user.email, password).catch((error: unknown) => {
      const wrong = error instanceof ServiceError && error.error === 'InvalidCredentials'
      throw wrong ? new ServiceError('WrongPassword') : error
    })
    return user
  }
}
