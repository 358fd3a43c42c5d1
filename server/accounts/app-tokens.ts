import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { LRUCache } from 'lru-cache'
import type { AppClaims, AppTokens } from '../../records/accounts/apps/app-grants.ts'
import { SIGNING_ALGORITHM, type SigningKeys } from '../keys/signing-keys.ts'
import { isTokenError } from './token-errors.ts'

/** Lifetime of an access token in seconds. */
export const APP_TOKEN_LIFETIME_S = 3600

type VerifiedClaims = AppClaims & { exp: number }

export interface AppTokenOptions {
  keys: SigningKeys
  issuer: string
  /** Address of the FHIR API: the only audience of these tokens. */
  audience: string
  clock: () => Date
}

/** Issues and verifies the tokens of apps. Their audience is the FHIR API, so no other part of the service accepts them. */
export function createAppTokens({ keys, issuer, audience, clock }: AppTokenOptions): AppTokens {
  const verified = new LRUCache<string, VerifiedClaims>({ max: 10_000 })
  const nowS = () => Math.floor(clock().getTime() / 1000)
  const signed = async (claims: object, { typ, aud, sub }: { typ: string; aud: string; sub: string }) => {
    const { kid, key } = await keys.current()
    return new SignJWT({ ...claims })
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, kid, typ })
      .setIssuer(issuer)
      .setAudience(aud)
      .setSubject(sub)
      .setIssuedAt(nowS())
      .setExpirationTime(nowS() + APP_TOKEN_LIFETIME_S)
      .sign(key)
  }
  return {
    lifetime: APP_TOKEN_LIFETIME_S,
    sign: ({ sub, sid, clientId, scopes, patient }) =>
      signed(
        { sid, client_id: clientId, scope: scopes.join(' '), patient },
        { typ: 'at+jwt', aud: audience, sub },
      ),
    signIdentity: ({ sub, clientId, nonce, fhirUser }) =>
      signed({ nonce, fhirUser }, { typ: 'JWT', aud: clientId, sub }),
    async verify(token) {
      const claims = verified.get(token) ?? (await checked(token))
      if (!claims || claims.exp <= nowS()) return undefined
      verified.set(token, claims)
      return claims
    },
  }

  /** Accepts only our algorithm and our keys, whatever the token names. */
  async function checked(token: string): Promise<VerifiedClaims | undefined> {
    try {
      const { kid } = decodeProtectedHeader(token)
      const key = typeof kid === 'string' ? await keys.findVerificationKey(kid) : undefined
      if (!key) return undefined
      const { payload } = await jwtVerify(token, key, {
        ...{ algorithms: [SIGNING_ALGORITHM], issuer, audience, typ: 'at+jwt', currentDate: clock() },
        requiredClaims: ['sub', 'sid', 'exp', 'client_id', 'scope'],
      })
      const { sub = '', sid, exp = 0, client_id, scope, patient } = payload
      return {
        ...{ sub, exp, sid: String(sid), clientId: String(client_id), scopes: String(scope).split(' ') },
        ...(typeof patient === 'string' && { patient }),
      }
    } catch (error) {
      if (isTokenError(error)) return undefined
      throw error
    }
  }
}
