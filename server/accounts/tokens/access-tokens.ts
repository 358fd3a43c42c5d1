import { decodeJwt } from 'jose'
import type { Principal } from '../../../path-api/operation/access.ts'
import type { AppGrants } from '../../../records/accounts/apps/app-grants.ts'
import type { AccessTokens } from '../../../records/accounts/login/logins.ts'
import type { Sessions } from '../../../records/accounts/login/sessions.ts'
import type { ConnectedSystems } from '../../../records/accounts/systems/connected-systems.ts'
import { isSystemId } from '../../../records/ehrs/rights/access.ts'
import type { SigningKeys } from '../../keys/signing-keys.ts'
import { SignedTokens } from './signed-tokens.ts'

/** Lifetime of an access token in seconds. */
export const ACCESS_TOKEN_LIFETIME_S = 900

const TOKEN_AUDIENCE = 'health-record-service'

/** Issues and verifies access tokens: JWTs with user and session only. */
export function createAccessTokens(
  keys: SigningKeys,
  issuer: string,
  clock: () => Date,
): AccessTokens & Pick<SignedTokens, 'verify'> {
  const lifetime = ACCESS_TOKEN_LIFETIME_S
  const tokens = new SignedTokens({ keys, issuer, audience: TOKEN_AUDIENCE, lifetime, clock })
  return {
    lifetime,
    sign: ({ sub, sid, helperId }) =>
      tokens.sign({ sid, ...(helperId !== undefined && { act: { sub: helperId } }) }, { sub }),
    verify: (token) => tokens.verify(token),
  }
}

/** Names the keys and rights to look for; unverified, so it proves nothing. */
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
  const { sub: mvUid, sid: sessionId, exp, app, roles, permits: scopes, patient, userEhr } = access
  return {
    mvUid,
    sessionId,
    validUntil: new Date(exp * 1000),
    application: app.name,
    roles,
    app: { id: app.id, scopes, grantId: isSystemId(mvUid) ? app.id : sessionId, patient, userEhr },
  }
}

/** Authenticates a token while its session is active, or while a connected system has the key that it names. */
export function createAuthenticator(
  tokens: Pick<SignedTokens, 'verify'>,
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
