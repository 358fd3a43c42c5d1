import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Principal } from '../../path-api/operation/access.ts'
import type { AccessTokens } from '../../records/accounts/login/logins.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import { algorithm, type SigningKeys } from './keys.ts'

/** Seconds for which an access token is valid. */
export const accessTokenLifetime = 900

const audience = 'health-record-service'

interface Claims {
  sid: string
  sub: string
  /** Seconds since 1970. */
  exp: number
}

/** Makes and verifies the access tokens: JWTs that say who and in which session, and nothing more. */
export function createAccessTokens(
  keys: SigningKeys,
  issuer: string,
  clock: () => Date,
): AccessTokens & { verify(token: string): Promise<Claims | undefined> } {
  const verified = new LRUCache<string, Claims>({ max: 10_000 })
  return {
    lifetime: accessTokenLifetime,
    async sign({ sub, sid }) {
      const { kid, key } = await keys.current()
      const now = Math.floor(clock().getTime() / 1000)
      return new SignJWT({ sid })
        .setProtectedHeader({ alg: algorithm, kid, typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(sub)
        .setIssuedAt(now)
        .setExpirationTime(now + accessTokenLifetime)
        .sign(key)
    },
    async verify(token) {
      const claims = verified.get(token) ?? (await checked(token))
      if (!claims || claims.exp * 1000 <= clock().getTime()) return undefined
      verified.set(token, claims)
      return claims
    },
  }

  /** The algorithm is ours, whatever the token says; the key is one of ours, whatever it brings along. */
  async function checked(token: string): Promise<Claims | undefined> {
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = typeof kid === 'string' ? await keys.verifying(kid) : undefined
      if (!key) return undefined
      const { payload } = await jwtVerify(token, key, {
        algorithms: [algorithm],
        issuer,
        audience,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'sid', 'exp'],
        currentDate: clock(),
      })
      return payload as unknown as Claims
    } catch (error) {
      if (isRefusal(error)) return undefined
      throw error
    }
  }
}

/** jose's errors are about the token; anything else is about us. */
const isRefusal = (error: unknown): boolean =>
  error instanceof TypeError ||
  (error instanceof Error && 'code' in error && /^ERR_J/.test(String(error.code)))

/** Whose token it is, as long as its session lives. */
export function authenticator(
  tokens: { verify(token: string): Promise<Claims | undefined> },
  sessions: Sessions,
): (token: string) => Promise<Principal | undefined> {
  return async (token) => {
    const claims = await tokens.verify(token)
    const facts = claims && (await sessions.facts(claims.sid))
    if (!claims || !facts || facts.mvUid !== claims.sub) return undefined
    const { sid: sessionId, exp } = claims
    const validUntil = new Date(exp * 1000)
    return { mvUid: facts.mvUid, sessionId, validUntil, roles: facts.roles, application: 'path family' }
  }
}
