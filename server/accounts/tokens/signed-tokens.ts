import { decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import { SIGNING_ALGORITHM, type SigningKeys } from '../../keys/signing-keys.ts'
import { isTokenError } from './token-errors.ts'

/** Tokens of one audience, which one service signs with its keys. */
export interface SignedTokenOptions {
  keys: SigningKeys
  issuer: string
  audience: string
  /** In seconds. */
  lifetime: number
  /** Claims that a valid token has, besides `sub`, `sid` and `exp`. */
  requiredClaims?: string[]
  clock: () => Date
}

/** The claims of a valid token; `exp` is in seconds since 1970. */
interface TokenClaims extends JWTPayload {
  sub: string
  sid: string
  exp: number
}

/** Signs and verifies JWTs; verified ones are remembered until they expire. */
export class SignedTokens {
  readonly #options: SignedTokenOptions
  readonly #verified = new LRUCache<string, TokenClaims>({ max: 10_000 })

  constructor(options: SignedTokenOptions) {
    this.#options = options
  }

  /** @param type media type of the token; by default, audience and lifetime are those of the tokens that can be verified */
  async sign(
    claims: JWTPayload,
    {
      sub,
      type = 'at+jwt',
      audience = this.#options.audience,
      lifetime = this.#options.lifetime,
    }: { sub: string; type?: string; audience?: string; lifetime?: number | undefined },
  ): Promise<string> {
    const { keys, issuer, clock } = this.#options
    const { kid, key } = await keys.current()
    const now = Math.floor(clock().getTime() / 1000)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: type })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(sub)
      .setIssuedAt(now)
      .setExpirationTime(now + lifetime)
      .sign(key)
  }

  /** @returns the claims of a valid access token */
  async verify(token: string): Promise<TokenClaims | undefined> {
    const claims = this.#verified.get(token) ?? (await this.#check(token))
    if (!claims || claims.exp * 1000 <= this.#options.clock().getTime()) return undefined
    this.#verified.set(token, claims)
    return claims
  }

  /** Accepts only our algorithm and our keys, whatever the token names. */
  async #check(token: string): Promise<TokenClaims | undefined> {
    const { keys, issuer, audience, requiredClaims = [], clock } = this.#options
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = typeof kid === 'string' ? await keys.findVerificationKey(kid) : undefined
      if (!key) return undefined
      const { payload } = await jwtVerify(token, key, {
        algorithms: [SIGNING_ALGORITHM],
        issuer,
        audience,
        typ: 'at+jwt',
        currentDate: clock(),
        requiredClaims: ['sub', 'sid', 'exp', ...requiredClaims],
      })
      return payload as TokenClaims
    } catch (error) {
      if (isTokenError(error)) return undefined
      throw error
    }
  }
}
