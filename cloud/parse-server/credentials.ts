import type { Db } from 'mongodb'
import { accountLocked } from '../../records/accounts/login/unknown-addresses.ts'
import type { Credentials, NewAccount } from '../../records/accounts/user/credentials.ts'
import { newSecret } from '../../records/accounts/user/secret.ts'
import { usersOf } from '../../records/accounts/user/user.ts'
import { unavailable } from '../../records/store/documents/outage.ts'
import { ServiceError } from '../../schemas/errors.ts'
import { UNAVAILABLE } from './adapter/query-refusals.ts'
import { forgettable } from './adapter/role-cache.ts'
import { type AccountInternals, accountInternals } from './internals.ts'

/** Parse.Error.* */
const code = {
  objectNotFound: 101,
  validation: 142,
  usernameMissing: 200,
  passwordMissing: 201,
  usernameTaken: 202,
  emailTaken: 203,
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | undefined)?.code
const messageOf = (error: unknown): string =>
  typeof error === 'string' ? error : String((error as Error | undefined)?.message ?? '')

/** Parse Server's accounts behind our interface; called when it has started. */
export async function parseCredentials(appId: string, db: Db): Promise<Credentials> {
  const parse = await accountInternals(appId)
  const { config, auth, rest } = parse
  const request = (email: string, password: string, installationId?: string) => ({
    config,
    auth: auth.nobody(config),
    info: { context: {}, installationId },
    body: { email, password },
    query: {},
  })
  return tellingOutages({
    ...sessionsOf(parse),
    ...linksOf(parse, db),
    async signUp({ id, ...account }) {
      const made = await rest
        .create(config, auth.master(config), '_User', dataOf(account), { newId: id })
        .catch((error: unknown) => Promise.reject(signUpFault(error)))
      return made.response.objectId
    },
    async logIn(email, password, installationId) {
      const { response } = await parse.users
        .handleLogIn(request(email, password, installationId))
        .catch((error: unknown) => Promise.reject(loginFault(error)))
      return response
    },
    async checkPassword(email, password) {
      await parse.users
        .handleVerifyPassword(request(email, password))
        .catch((error: unknown) => Promise.reject(loginFault(error)))
    },
    async changePassword(objectId, password) {
      await rest
        .update(config, auth.master(config), '_User', { objectId }, { password })
        .catch(async (error: unknown) => {
          // What Parse says of a user who has been removed meanwhile is a fault of its own.
          const user = await db.collection<{ _id: string }>('_User').findOne({ _id: objectId })
          throw user ? policyFault(error) : new ServiceError('NotFound')
        })
    },
  })
}

/** Says in our words what Parse says of a database that is away, or takes no more, whatever it was asked for. */
function tellingOutages(credentials: Credentials): Credentials {
  const told = Object.entries<Ask>({ ...credentials }).map(([name, ask]) => [
    name,
    (...args: never[]) =>
      ask(...args).catch((error: unknown) => {
        throw messageOf(error) === UNAVAILABLE ? unavailable(error) : error
      }),
  ])
  return Object.fromEntries(told)
}

type Ask = (...args: never[]) => Promise<unknown>

function sessionsOf({ config, createSession }: AccountInternals) {
  return {
    async beginSession(userId, authProvider) {
      const createdWith = { action: 'login', authProvider }
      const session = createSession(config, { userId, createdWith })
      await session.createSession()
      return session.sessionData.sessionToken
    },
    async forgetSessions(tokens) {
      for (const token of tokens) await config.cacheController.user.del(token)
    },
    forgetRoles: forgettable(config.cacheController.role),
  } satisfies Partial<Credentials>
}

function linksOf({ config, auth }: AccountInternals, db: Db) {
  const { userController } = config
  return {
    async resendActivation(email) {
      const user = await usersOf(db).findOne({ email }, { projection: { username: 1 } })
      if (!user) return
      await userController
        .resendVerificationEmail(user.username, { auth: auth.nobody(config) })
        .catch((error: unknown) => {
          // Parse rejects with nothing for one who has been activated meanwhile, and with 101 for one who is gone.
          if (error !== undefined && codeOf(error) !== code.objectNotFound) throw error
        })
    },
    async sendReset(email) {
      await userController.sendPasswordResetEmail(email).catch((error: unknown) => {
        if (codeOf(error) !== code.objectNotFound) throw error
      })
    },
    async passwordToken(email, days) {
      const token = newSecret()
      const expiresAt = new Date(Date.now() + days * 24 * 3_600_000)
      const $set = { _perishable_token: token, _perishable_token_expires_at: expiresAt }
      await usersOf(db).updateOne({ email }, { $set } as object)
      return token
    },
    async resetPassword(token, newPassword) {
      await userController
        .updatePassword(token, newPassword)
        .catch((error: unknown) => Promise.reject(resetFault(error)))
    },
  } satisfies Partial<Credentials>
}

function dataOf({ email, password, name, language, username, termsVersion, invited }: NewAccount): object {
  const now = { __type: 'Date', iso: new Date().toISOString() }
  return {
    username: username ?? email,
    email,
    password,
    ...(name === undefined ? {} : { name }),
    ...(language === undefined ? {} : { language }),
    ...(invited ? { invitedAt: now } : {}),
    ...(termsVersion === undefined ? {} : { termsVersion, termsAcceptedAt: now }),
  }
}

function signUpFault(error: unknown): unknown {
  const taken = codeOf(error) === code.usernameTaken || codeOf(error) === code.emailTaken
  if (!taken) return policyFault(error)
  return new ServiceError('Conflict', { detail: 'The address already has an account.', cause: error })
}

/** An empty name or password is a wrong one. */
function loginFault(error: unknown): unknown {
  if (codeOf(error) === code.usernameMissing || codeOf(error) === code.passwordMissing)
    return new ServiceError('InvalidCredentials')
  if (codeOf(error) !== code.objectNotFound) return error
  return messageOf(error).includes('locked') ? accountLocked() : new ServiceError('InvalidCredentials')
}

function policyFault(error: unknown): unknown {
  if (codeOf(error) !== code.validation) return error
  return new ServiceError('RuleViolated', { violations: [violationOf(messageOf(error))] })
}

function resetFault(error: unknown): unknown {
  const message = messageOf(error)
  if (/token is invalid|link has expired/.test(message)) return new ServiceError('LinkExpired')
  return /password/i.test(message)
    ? new ServiceError('RuleViolated', { violations: [violationOf(message)] })
    : error
}

const violationOf = (message: string) =>
  /same as last/.test(message)
    ? { path: 'newPassword', code: 'password-used-before', message: 'was used recently' }
    : { path: 'newPassword', code: 'password-refused', message: `is refused: ${message.replace(/\.$/, '')}` }
