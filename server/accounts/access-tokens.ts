import { decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { Principal } from '../../path-api/operation/access.ts'
import type { AppGrants } from '../../records/accounts/apps/app-grants.ts'
import type { AccessTokens } from '../../records/accounts/login/logins.ts'
import type { Sessions } from '../../records/accounts/login/sessions.ts'
import type { ConnectedSystems } from '../../records/accounts/systems/connected-systems.ts'
import { isSystemId } from '../../records/ehrs/rights/access.ts'
import { SIGNING_ALGORITHM, type SigningKeys } from '../keys/signing-keys.ts'
import { isTokenError } from './token-errors.ts'

/** Lifetime of an access token in seconds. */
export const ACCESS_TOKEN_LIFETIME_S = 900

const TOKEN_AUDIENCE = 'health-record-service'

interface TokenClaims {
  sid: string
  sub: string
  /** Expiry, in seconds since 1970. */
  exp: number
}

/** Issues and verifies access tokens: JWTs with user and session only. */
export function createAccessTokens(
  keys: SigningKeys,
  issuer: string,
  clock: () => Date,
): AccessTokens & { verify(token: string): Promise<TokenClaims | undefined> } {
  const verified = new LRUCache<string, TokenClaims>({ max: 10_000 })
  return {
    lifetime: ACCESS_TOKEN_LIFETIME_S,
    async sign({ sub, sid, helperId }) {
      const { kid, key } = await keys.current()
      const now = Math.floor(clock().getTime() / 1000)
      return new SignJWT({ sid, ...(helperId !== undefined && { act: { sub: helperId } }) })
        .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience(TOKEN_AUDIENCE)
        .setSubject(sub)
        .setIssuedAt(now)
        .setExpirationTime(now + ACCESS_TOKEN_LIFETIME_S)
        .sign(key)
    },
    async verify(token) {
      const claims = verified.get(token) ?? (await checked(token))
      if (!claims || claims.exp * 1000 <= clock().getTime()) return undefined
      verified.set(token, claims)
      return claims
    },
  }

  /** Accepts only our algorithm and our keys, whatever the token names. */
  async function checked(token: string): Promise<TokenClaims | undefined> {
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = typeof kid === 'string' ? await keys.findVerificationKey(kid) : undefined
      if (!key) return undefined
      const { payload } = await jwtVerify(token, key, {
        algorithms: [SIGNING_ALGORITHM],
        issuer,
        audience: TOKEN_AUDIENCE,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'sid', 'exp'],
        currentDate: clock(),
      })
      return payload as unknown as TokenClaims
    } catch (error) {
      if (isTokenError(error)) return undefined
      throw error
    }
  }
}

/** Tells which keys and rights to look for; it proves nothing. */
const isAppToken = (token: string): boolean => {
  try {
    return 'client_id' in decodeJwt(token)
  } catch {
    return false
  }
}

/** Authenticates the token of an app while its session is active. */
async function authenticateApp(token: string, apps: Pick<AppGrants, 'findAccess'>) {
  const access = await apps.findAccess(token)
  if (!access) return undefined
  const { sub: mvUid, sid: sessionId, exp, app, roles, permits: scopes, patient } = access
  return {
    ...{ mvUid, sessionId, validUntil: new Date(exp * 1000), application: app.name },
    roles,
    app: { id: app.id, scopes, patient },
  }
}

/** Authenticates a token while its session is active, or while a connected system has the key that it names. */
export function createAuthenticator(
  tokens: { verify(token: string): Promise<TokenClaims | undefined> },
  sessions: Sessions,
  systems: Pick<ConnectedSystems, 'facts'>,
  apps: Pick<AppGrants, 'findAccess'>,
): (token: string) => Promise<Principal | undefined> {
  return async (token) => {
    if (isAppToken(token)) return authenticateApp(token, apps)
    const claims = await tokens.verify(token)
    if (!claims) return undefined
    const { sid: sessionId, exp, sub } = claims
    const validUntil = new Date(exp * 1000)
    if (isSystemId(sub)) {
      const system = await systems.facts(sub, sessionId)
      if (!system) return undefined
      const { name: application, roles } = system
      return { mvUid: sub, sessionId, validUntil, roles, application, isSystem: true }
    }
    const facts = await sessions.facts(sessionId)
    if (facts?.mvUid !== sub) return undefined
    return { ...facts, sessionId, validUntil, application: 'path family' }
  }
}
