import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../../schemas/common.ts'
import { type ErrorName, ServiceError } from '../../schemas/errors.ts'
import type { RenderedResponse } from './rendered-response.ts'

/** The endpoints whose callers are programs that speak OAuth 2.0. */
export const isOAuthPath = (path: string): boolean =>
  /^\/auth\/(token|smart\/(token|introspect|revoke))\/?$/.test(path)

/** RFC 6749, 5.2. */
export const OAuthError = closedObject('OAuthError', 'An error of OAuth 2.0', {
  error: Type.String({ description: 'Code of the error', examples: ['invalid_grant'] }),
  error_description: Type.String({ description: 'Explanation of the error' }),
})

/** Errors whose violation has the code of OAuth. */
const OAUTH_CODES: readonly string[] = [
  'invalid_request',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
  'unauthorized_client',
  'unsupported_token_type',
]

function oauthCodeOf({ error, status, violations: [first] }: ServiceError): string {
  if (error === 'GrantRefused' && first && OAUTH_CODES.includes(first.code)) return first.code
  if (error === 'ClientRefused') return 'invalid_client'
  if (status >= 500) return 'server_error'
  return status === 429 ? 'temporarily_unavailable' : 'invalid_request'
}

const describe = ({ detail, title, violations }: ServiceError): string =>
  violations.length > 0 ? violations.map(({ message }) => message).join(' ') : (detail ?? title)

export const oauthErrorExample = (name: ErrorName): Static<typeof OAuthError> => {
  const violations = [{ path: '', code: 'invalid_grant', message: 'The code has expired.' }]
  return toDocument(new ServiceError(name as 'GrantRefused', { violations }))
}

const toDocument = (error: ServiceError): Static<typeof OAuthError> => ({
  error: oauthCodeOf(error),
  // RFC 6749 allows these characters only.
  error_description: describe(error).replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'"),
})

export const createOAuthErrorResponse = (error: ServiceError): RenderedResponse => ({
  status: error.status,
  headers: {
    'content-type': 'application/json',
    ...(error.status === 401 ? { 'www-authenticate': 'Basic realm="OAuth"' } : {}),
    ...(error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) }),
  },
  body: JSON.stringify(toDocument(error)),
})
