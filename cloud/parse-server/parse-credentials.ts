import type { Db } from 'mongodb'
import Parse from 'parse/node'
import {
  type Credentials,
  type NewAccount,
  PASSWORD_LINK_TTL_S,
} from '../../records/accounts/user/credentials.ts'
import { newSecret } from '../../records/accounts/user/secret.ts'
import { usersOf } from '../../records/accounts/user/user.ts'
import { withoutNulls } from '../../records/ehr-records/validation/record-bodies.ts'
import { unavailableError } from '../../records/store/documents/outage.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { toDateObject } from '../../schemas/forms/class-form.ts'
import { UNAVAILABLE_MESSAGE } from './adapter/database-errors.ts'
import { preventStaleEntries } from './adapter/parse-cache.ts'
import { type AccountInternals, loadAccountInternals } from './internals.ts'

const hasCode = (error: unknown, ...codes: unknown[]): boolean =>
  codes.includes((error as { code?: unknown } | undefined)?.code)
const errorMessageOf = (error: unknown): string =>
  typeof error === 'string' ? error : String((error as Error | undefined)?.message ?? '')

/** Implements our credentials interface with Parse Server, which must have started. */
export async function createParseCredentials(appId: string, db: Db): Promise<Credentials> {
  const parse = await loadAccountInternals(appId)
  const { config, auth, rest } = parse
  return translateOutages({
    ...createSessionMethods(parse),
    ...createLinkMethods(parse, db),
    async signUp({ id, ...account }) {
      const creation = rest.create(config, auth.master(config), '_User', toUserData(account), { newId: id })
      return (await withTranslatedError(creation, toSignUpError)).response.objectId
    },
    async logIn(email, password, installationId) {
      const request = { info: { context: {}, installationId }, body: { email, password }, query: {} }
      const loggedIn = parse.users.handleLogIn({ config, auth: auth.nobody(config), ...request })
      return (await withTranslatedError(loggedIn, toLoginError)).response
    },
    async matchesPassword(mvUid, password) {
      const user = await usersOf(db).findOne({ _id: mvUid }, { projection: { _hashed_password: 1 } })
      return parse.comparePassword(password, user?._hashed_password)
    },
    async requireAllowedPassword(objectId, password, username) {
      const data = { password, ...(username !== undefined && { username }) }
      const write = new parse.RestWrite(config, auth.master(config), '_User', { objectId }, data)
      await withTranslatedError(write._validatePasswordPolicy(), (error) =>
        toChangeError(db, objectId, error),
      )
    },
    async changePassword(objectId, password) {
      const change = rest.update(config, auth.master(config), '_User', { objectId }, { password })
      await withTranslatedError(change, (error) => toChangeError(db, objectId, error))
    },
  })
}

/** Replaces the error of some work. */
const withTranslatedError = <T>(work: Promise<T>, translate: (error: unknown) => unknown): Promise<T> =>
  work.catch(async (error: unknown) => Promise.reject(await translate(error)))

/** Converts Parse's errors during a database outage, in all functions. */
const translateOutages = (credentials: Credentials): Credentials =>
  Object.fromEntries(
    Object.entries<(...args: never[]) => Promise<unknown>>({ ...credentials }).map(([name, ask]) => [
      name,
      (...args: never[]) => withTranslatedError(ask(...args), toOutageError),
    ]),
  ) as never

const toOutageError = (error: unknown) =>
  errorMessageOf(error) === UNAVAILABLE_MESSAGE ? unavailableError(error) : error

function createSessionMethods({ config, createSession }: AccountInternals) {
  return {
    async beginSession(userId, authProvider) {
      const session = createSession(config, { userId, createdWith: { action: 'login', authProvider } })
      await session.createSession()
      return session.sessionData.sessionToken
    },
    forgetSessions: preventStaleEntries(config.cacheController.user),
    forgetRoles: preventStaleEntries(config.cacheController.role),
  } satisfies Partial<Credentials>
}

function createLinkMethods({ config, auth }: AccountInternals, db: Db) {
  const { userController } = config
  return {
    async resendActivation(email) {
      const user = await usersOf(db).findOne({ email }, { projection: { username: 1 } })
      if (!user) return
      await userController
        .resendVerificationEmail(user.username, { auth: auth.nobody(config) })
        .catch((error: unknown) => {
          // Parse rejects with undefined if the account was activated meanwhile, and with 101 if it was deleted.
          if (error !== undefined && !hasCode(error, Parse.Error.OBJECT_NOT_FOUND)) throw error
        })
    },
    async sendPasswordReset(email) {
      // Parse mails a valid token again, but does not extend it.
      await extendPasswordToken(db, email)
      await userController.sendPasswordResetEmail(email).catch((error: unknown) => {
        if (!hasCode(error, Parse.Error.OBJECT_NOT_FOUND)) throw error
      })
    },
    async createPasswordToken(email, days) {
      const token = newSecret()
      const expiresAt = new Date(Date.now() + days * 24 * 3_600_000)
      const $set = { _perishable_token: token, _perishable_token_expires_at: expiresAt }
      await usersOf(db).updateOne({ email }, { $set })
      return token
    },
    async resetPassword(token, newPassword) {
      await withTranslatedError(userController.updatePassword(token, newPassword), toResetError)
    },
  } satisfies Partial<Credentials>
}

/** Extends the token of a link for choosing a password, if it is still valid. */
async function extendPasswordToken(db: Db, email: string): Promise<void> {
  const now = Date.now()
  const valid = { email, _perishable_token_expires_at: { $gt: new Date(now) } }
  const expiresAt = new Date(now + PASSWORD_LINK_TTL_S * 1000)
  await usersOf(db).updateOne(valid, { $max: { _perishable_token_expires_at: expiresAt } })
}

function toUserData({ invited, ...account }: Omit<NewAccount, 'id'>): object {
  const now = toDateObject(new Date().toISOString())
  return {
    username: account.email,
    ...withoutNulls(account),
    ...(invited && { invitedAt: now }),
    ...(account.termsVersion !== undefined && { termsAcceptedAt: now }),
  }
}

function toSignUpError(error: unknown): unknown {
  if (!hasCode(error, Parse.Error.USERNAME_TAKEN, Parse.Error.EMAIL_TAKEN)) return toPolicyError(error)
  return new ServiceError('Conflict', { detail: 'The e-mail address already has an account.', cause: error })
}

/** An empty name or password counts as wrong. */
function toLoginError(error: unknown): unknown {
  if (hasCode(error, Parse.Error.USERNAME_MISSING, Parse.Error.PASSWORD_MISSING))
    return new ServiceError('InvalidCredentials')
  return hasCode(error, Parse.Error.OBJECT_NOT_FOUND) ? new ServiceError('InvalidCredentials') : error
}

async function toChangeError(db: Db, mvUid: string, error: unknown): Promise<unknown> {
  // Parse fails with an internal error for a user who was deleted meanwhile.
  const user = await usersOf(db).findOne({ _id: mvUid })
  return user ? toPolicyError(error) : new ServiceError('NotFound')
}

function toPolicyError(error: unknown): unknown {
  if (!hasCode(error, Parse.Error.VALIDATION_ERROR)) return error
  return new ServiceError('RuleViolated', { violations: [toPasswordViolation(errorMessageOf(error))] })
}

function toResetError(error: unknown): unknown {
  const message = errorMessageOf(error)
  if (/token is invalid|link has expired/.test(message)) return new ServiceError('LinkExpired')
  return /password/i.test(message)
    ? new ServiceError('RuleViolated', { violations: [toPasswordViolation(message)] })
    : error
}

const toPasswordViolation = (message: string) =>
  /same as last/.test(message)
    ? { path: 'newPassword', code: 'password-used-before', message: 'was used recently' }
    : { path: 'newPassword', code: 'password-refused', message: `is refused: ${message.replace(/\.$/, '')}` }
