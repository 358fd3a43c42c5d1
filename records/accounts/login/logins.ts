import type { Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Grant } from '../../../schemas/login.ts'
import type { Credentials, LoggedIn } from '../user/credentials.ts'
import { newSecret } from '../user/secret.ts'
import { stateOf, userByName } from '../user/user.ts'
import type { ExternalIdentity, Identities } from './identities.ts'
import type { RefreshTokens } from './refresh-tokens.ts'
import type { LiveSession, Sessions } from './sessions.ts'
import type { UnknownAddresses } from './unknown-addresses.ts'

/** Makes access tokens. */
export interface AccessTokens {
  /** Seconds for which a token is valid. */
  lifetime: number
  sign(claims: { sub: string; sid: string }): Promise<string>
}

export interface LoginParts {
  credentials: Credentials
  sessions: Sessions
  refreshTokens: RefreshTokens
  accessTokens: AccessTokens
  identities: Identities
  /** Makes the EHR of an account at its first login; a login by password has Parse Server do that. */
  ensureEhr: (mvUid: string) => Promise<void>
  unknownAddresses: UnknownAddresses
  /** Told of each login that fails. */
  noteFailure: (reason: 'wrong' | 'locked') => void
  db: Db
  clock: () => Date
}

const failures: Partial<Record<ServiceError['error'], 'wrong' | 'locked'>> = {
  InvalidCredentials: 'wrong',
  AccountLocked: 'locked',
}

/** The ways to a session, and to its tokens. */
export class Logins {
  readonly #parts: LoginParts

  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** @throws InvalidCredentials, AccountLocked */
  async withPassword(email: string, password: string, device: string): Promise<Grant> {
    const { sessionToken } = await this.classFamily(email, password)
    return this.#begin(sessionToken, device)
  }

  /**
   * Begins a session that is the class family's alone. An address without an active account is treated like one that
   * has one and a wrong password: the same is looked up, compared and counted.
   * @throws InvalidCredentials, AccountLocked
   */
  async classFamily(name: string, password: string, installationId?: string): Promise<LoggedIn> {
    try {
      return await this.#logIn(name, password, installationId)
    } catch (error) {
      const reason = error instanceof ServiceError ? failures[error.error] : undefined
      if (reason) this.#parts.noteFailure(reason)
      throw error
    }
  }

  async #logIn(name: string, password: string, installationId: string | undefined): Promise<LoggedIn> {
    const { credentials, unknownAddresses, db } = this.#parts
    const lowerCase = name.toLowerCase()
    const user = await userByName(db, lowerCase)
    const known = user !== undefined && stateOf(user) === 'ACTIVE'
    try {
      return await credentials.logIn(known ? user.email : newSecret(), password, installationId)
    } catch (error) {
      const wrong = error instanceof ServiceError && error.error === 'InvalidCredentials'
      if (wrong && !known) await unknownAddresses.failed(lowerCase)
      throw error
    }
  }

  /** @throws AccountNotFound */
  async withIdentity(identity: ExternalIdentity, device: string): Promise<Grant> {
    const mvUid = await this.#parts.identities.accountOf(identity)
    await this.#parts.ensureEhr(mvUid)
    return this.#begin(await this.#parts.credentials.beginSession(mvUid, 'oidc'), device)
  }

  /** @throws Unauthenticated; a token that was used long ago also ends the session, for it has been stolen */
  async withRefreshToken(refreshToken: string): Promise<Grant> {
    const { refreshTokens, sessions } = this.#parts
    const redeemed = await refreshTokens.redeem(refreshToken)
    if (redeemed && 'reused' in redeemed) await sessions.revoke(redeemed.sid)
    else if (redeemed) {
      const session = await sessions.used(redeemed.sid)
      if (session) return this.#grant(session, redeemed.next)
    }
    throw new ServiceError('Unauthenticated', { detail: 'The refresh token is invalid or has expired.' })
  }

  async #begin(sessionToken: string, device: string): Promise<Grant> {
    const { refreshTokens, sessions } = this.#parts
    const session = await sessions.begun(sessionToken, device)
    return this.#grant(session, await refreshTokens.issue(session.sid, sessions.latestEnd()))
  }

  async #grant({ sid, mvUid, sessionToken, expiresAt }: LiveSession, refreshToken: string): Promise<Grant> {
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
