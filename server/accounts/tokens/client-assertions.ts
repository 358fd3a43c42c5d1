import { decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import type { VerifyAssertion } from '../../../records/accounts/apps/app-clients.ts'
import type { FindClientKeys } from './client-keys.ts'
import { isTokenError } from './token-errors.ts'

/** SMART App Launch demands both. */
const ASSERTION_ALGORITHMS = ['RS384', 'ES384']

const MAX_LIFETIME_S = 300
/** Tolerated clock difference in seconds. */
const ASSERTION_CLOCK_TOLERANCE_S = 10

/** Verifies the assertions with which apps prove who they are (RFC 7523). @param audience URL of the token endpoint */
export const createAssertionVerifier =
  (audience: string, findKeys: FindClientKeys, clock: () => Date): VerifyAssertion =>
  async (assertion, findApp) => {
    try {
      const { iss } = decodeJwt(assertion)
      // Nobody has verified the claims yet, so this may be any JSON value.
      if (typeof iss !== 'string') return undefined
      const app = await findApp(iss)
      const keys = app && findKeys(app)
      const { jku } = decodeProtectedHeader(assertion)
      // SMART App Launch 2.2: a URL in the assertion must be the registered one.
      if (!keys || (jku !== undefined && jku !== app.jwksUri)) return undefined
      const { payload } = await jwtVerify(assertion, keys, {
        algorithms: ASSERTION_ALGORITHMS,
        issuer: iss,
        subject: iss,
        audience,
        currentDate: clock(),
        clockTolerance: ASSERTION_CLOCK_TOLERANCE_S,
        requiredClaims: ['exp', 'jti'],
      })
      const { exp = 0, jti } = payload
      const isShort = exp - clock().getTime() / 1000 <= MAX_LIFETIME_S + ASSERTION_CLOCK_TOLERANCE_S
      if (!isShort || typeof jti !== 'string' || jti === '') return undefined
      return { clientId: iss, jti, expiresAt: new Date((exp + ASSERTION_CLOCK_TOLERANCE_S) * 1000) }
    } catch (error) {
      // WebCrypto refuses malformed keys of apps with a DOMException.
      if (isTokenError(error) || error instanceof DOMException) return undefined
      throw error
    }
  }
