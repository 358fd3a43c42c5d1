import type { AppTokens } from '../../../records/accounts/apps/app-grants.ts'
import { type SignedTokenOptions, SignedTokens } from './signed-tokens.ts'

/** Lifetime of an access token in seconds. */
export const APP_TOKEN_LIFETIME_S = 3600

/**
 * Issues and verifies the tokens of apps. Their audience is the FHIR API, so no other part of the service accepts them.
 * @param options `audience`: URL of the FHIR API
 */
export function createAppTokens(
  options: Pick<SignedTokenOptions, 'keys' | 'issuer' | 'audience' | 'clock'>,
): AppTokens {
  const lifetime = APP_TOKEN_LIFETIME_S
  const tokens = new SignedTokens({ ...options, lifetime, requiredClaims: ['client_id', 'scope'] })
  return {
    lifetime,
    sign: ({ sub, sid, clientId, scopes, patient, userEhr }, seconds) =>
      tokens.sign(
        { sid, client_id: clientId, scope: scopes.join(' '), patient, user_ehr: userEhr },
        { sub, lifetime: seconds },
      ),
    signIdentity: ({ sub, clientId, nonce, fhirUser }) =>
      tokens.sign({ nonce, fhirUser }, { sub, type: 'JWT', audience: clientId }),
    async verify(token) {
      const claims = await tokens.verify(token)
      if (!claims) return undefined
      const { sub, sid, exp, client_id, scope, patient, user_ehr: userEhr } = claims
      return {
        sub,
        exp,
        sid: String(sid),
        clientId: String(client_id),
        scopes: String(scope).split(' '),
        ...(typeof patient === 'string' && { patient }),
        ...(typeof userEhr === 'string' && { userEhr }),
      }
    },
  }
}
