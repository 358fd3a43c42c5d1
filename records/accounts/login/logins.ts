import type { Db } from 'mongodb'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Grant } from '../../../schemas/login.ts'
import type { Credentials } from '../user/credentials.ts'
import { userByEmail } from '../user/user.ts'
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
  unknownAddresses: UnknownAddresses
  db: Db
  clock: () => Date
}

/** The ways to a session, and to its tokens. */
export class Logins {
  readonly #parts: LoginParts

  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** @throws InvalidCredentials, AccountNotActivated, AccountLocked */
  async withPassword(email: string, password: string, device: string): Promise<Grant> {
    const address = email.toLowerCase()
    try {
      return await this.#begin(await this.#parts.credentials.logIn(address, password), device)
    } catch (error) {
      if (error instanceof ServiceError && error.error === 'InvalidCredentials') await this.#failed(address)
      throw error
    }
  }

  /** @throws AccountNotFound */
  async withIdentity(identity: ExternalIdentity, device: string): Promise<Grant> {
    const mvUid = await this.#parts.identities.accountOf(identity)
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
    throw new ServiceError('Unauthenticated', { detail: 'The refresh token is not valid, or no longer.' })
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

  /** Looks the address up in either case, and counts where Parse Server has not counted. @throws AccountLocked */
  async #failed(email: string): Promise<void> {
    if (!(await userByEmail(this.#parts.db, email))) await this.#parts.unknownAddresses.failed(email)
  }
}
