import type { Db } from 'mongodb'
import type { TokenGrant } from '../../../schemas/accounts/login.ts'
import type { HelperAct } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Parties } from '../helpers/helper-agreement.ts'
import type { Credentials, LoginResult } from '../user/credentials.ts'
import { newSecret } from '../user/secret.ts'
import {
  ACCOUNT_STATE_FILTERS,
  accountStateOf,
  findUserByLogin,
  toLowerCaseLogin,
  type User,
  usersOf,
} from '../user/user.ts'
import type { ExternalIdentity, Identities } from './identities.ts'
import { accountLockedError, type LoginLockout } from './login-lockout.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import { type ActiveSession, IDENTITY_LOGIN, type Sessions } from './sessions.ts'

export interface AccessTokens {
  /** Lifetime of a token in seconds. */
  lifetime: number
  /** @param claims `helperId`: the user who acts for `sub`, named in the claim `act` (RFC 8693) */
  sign(claims: { sub: string; sid: string; helperId?: string }): Promise<string>
}

/** Tokens with which a helper acts for a person, one for each family. */
export interface HelperTokens {
  authToken: string
  /** Lifetime of authToken in seconds. */
  expiresIn: number
  sessionToken: string
  /** The person. */
  mvUid: string
  acts: HelperAct[]
}

export interface LoginDependencies {
  credentials: Credentials
  sessions: Sessions
  refreshTokens: RefreshTokens
  accessTokens: AccessTokens
  identities: Identities
  /** Creates the EHR of an account at its first login; a login by password creates it in Parse Server. */
  ensureEhr: (mvUid: string) => Promise<void>
  lockout: LoginLockout
  /** Called after each failed login. */
  recordFailure: (reason: 'wrong' | 'locked') => void
  db: Db
  clock: () => Date
}

const failureReasons: Partial<Record<ServiceError['error'], 'wrong' | 'locked'>> = {
  InvalidCredentials: 'wrong',
  AccountLocked: 'locked',
}

/** Logins, and the tokens of the resulting sessions. */
export class Logins {
  readonly #parts: LoginDependencies

  constructor(parts: LoginDependencies) {
    this.#parts = parts
  }

  /** @throws InvalidCredentials, AccountLocked */
  async logInWithPassword(email: string, password: string, device: string): Promise<TokenGrant> {
    const { sessionToken } = await this.logInForClassFamily(email, password)
    const grant = await this.#startSession(sessionToken, device)
    if (!grant) throw new ServiceError('InvalidCredentials')
    return grant
  }

  /**
   * Begins a session for the class family only. An address without an active account costs the same lookup,
   * comparison and count as a wrong password.
   * @throws InvalidCredentials, AccountLocked
   */
  async logInForClassFamily(name: string, password: string, installationId?: string): Promise<LoginResult> {
    try {
      return await this.#logIn(name, password, installationId)
    } catch (error) {
      const reason = error instanceof ServiceError ? failureReasons[error.error] : undefined
      if (reason) this.#parts.recordFailure(reason)
      throw error
    }
  }

  async #logIn(name: string, password: string, installationId: string | undefined): Promise<LoginResult> {
    const { credentials, lockout, sessions, db } = this.#parts
    const lowerCase = toLowerCaseLogin(name)
    const user = await findUserByLogin(db, lowerCase)
    const activeUser = user && accountStateOf(user) === 'ACTIVE' ? user : undefined
    const email = activeUser?.email ?? lowerCase
    if (await lockout.isLocked(email)) throw accountLockedError()
    const logIn = credentials.logIn(activeUser?.email ?? newSecret(), password, installationId)
    const result = await logIn.catch(async (error: unknown) => {
      const wrong = error instanceof ServiceError && error.error === 'InvalidCredentials'
      if (wrong) await lockout.recordFailure(email)
      throw error
    })
    // Others may have guessed at the same time.
    const isLocked = await lockout.isLocked(email)
    if (!isLocked && activeUser && (await this.#isUnchanged(activeUser))) {
      await lockout.clear(email)
      return result
    }
    await sessions.revokeByToken(result.sessionToken)
    throw isLocked ? accountLockedError() : new ServiceError('InvalidCredentials')
  }

  /** Whether a login still holds. A change of the account ends only the sessions that have begun by then. */
  async #isUnchanged({ _id, _hashed_password = '' }: User): Promise<boolean> {
    const unchanged = { _id, _hashed_password, ...ACCOUNT_STATE_FILTERS.ACTIVE }
    return (await usersOf(this.#parts.db).findOne(unchanged, { projection: { _id: 1 } })) !== null
  }

  /**
   * Begins the session of an app that the person may authorize.
   * @throws InvalidCredentials, AccountLocked
   */
  async logInForApp(email: string, password: string, appName: string): Promise<ActiveSession> {
    const { sessionToken } = await this.logInForClassFamily(email, password)
    const session = await this.#parts.sessions.reserveForApp(sessionToken, appName)
    if (!session) throw new ServiceError('InvalidCredentials')
    return session
  }

  /** @throws AccountNotFound */
  async logInWithIdentity(identity: ExternalIdentity, device: string): Promise<TokenGrant> {
    const { identities, ensureEhr, credentials, sessions } = this.#parts
    const mvUid = await identities.findAccount(identity)
    await ensureEhr(mvUid)
    const sessionToken = await credentials.beginSession(mvUid, IDENTITY_LOGIN)
    if (!(await identities.isLinked(identity, mvUid))) await sessions.revokeByToken(sessionToken)
    const grant = await this.#startSession(sessionToken, device)
    if (!grant) throw new ServiceError('AccountNotFound')
    return grant
  }

  /**
   * @throws Unauthenticated; a token reused after the grace period also ends the session, because it was
   * probably stolen
   */
  async refresh(refreshToken: string): Promise<TokenGrant> {
    const { refreshTokens, sessions } = this.#parts
    const redemption = await refreshTokens.redeem(refreshToken)
    if (redemption && 'reused' in redemption) await sessions.revoke(redemption.sid)
    else if (redemption) {
      const session = await sessions.extend(redemption.sid)
      if (session) return this.#grant(session, redemption.next)
    }
    throw new ServiceError('Unauthenticated', { detail: 'The refresh token is invalid or has expired.' })
  }

  /**
   * Lets a helper act for a person. The tokens last as long as the helper's own session and the agreement.
   * @throws NotFound when the person's account is disabled, or the agreement has just ended
   */
  async actFor(sid: string, agreement: Parties & { id: string; until: string }): Promise<HelperTokens> {
    const { sessions, accessTokens } = this.#parts
    const session = await sessions.beginHelperSession(sid, agreement)
    const facts = session && (await sessions.facts(session.sid))
    if (!session || !facts?.helper) throw new ServiceError('NotFound')
    const { mvUid, sessionToken } = session
    const { helperId, acts } = facts.helper
    const authToken = await accessTokens.sign({ sub: mvUid, sid: session.sid, helperId })
    return { authToken, expiresIn: accessTokens.lifetime, sessionToken, mvUid, acts: [...acts] }
  }

  /** @returns undefined when the session has ended already */
  async #startSession(sessionToken: string, device: string): Promise<TokenGrant | undefined> {
    const { refreshTokens, sessions } = this.#parts
    const session = await sessions.recordDevice(sessionToken, device)
    if (!session) return undefined
    return this.#grant(session, await refreshTokens.issue(session.sid, sessions.maxExpiry()))
  }

  async #grant(
    { sid, mvUid, sessionToken, expiresAt }: ActiveSession,
    refreshToken: string,
  ): Promise<TokenGrant> {
    const { accessTokens, clock } = this.#parts
    return {
      authToken: await accessTokens.sign({ sub: mvUid, sid }),
      tokenType: 'Bearer',
      expiresIn: accessTokens.lifetime,
      refreshToken,
      refreshExpiresIn: Math.floor((expiresAt.getTime() - clock().getTime()) / 1000),
      sessionToken,
      mvUid,
    }
  }
}
