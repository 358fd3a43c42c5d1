import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import type { ExternalIdentity, IdentityProvider } from '../../records/accounts/login/identities.ts'
import { toLowerCaseLogin } from '../../records/accounts/user/user.ts'
import { ServiceError } from '../../schemas/errors.ts'

export interface ProviderOptions {
  issuer: string
  clientId: string
  clientSecret: string
  /** Further client ids whose ID tokens are accepted, such as those of apps. */
  audiences: readonly string[]
}

/** Asymmetric algorithms only: with a shared secret every verifier could sign. */
const ALLOWED_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** Google uses two forms of its issuer. */
const ISSUER_ALIASES: Record<string, readonly string[]> = {
  'https://accounts.google.com': ['accounts.google.com'],
}
const PROVIDER_TIMEOUT_S = 5
/** Tolerated clock difference in seconds. */
const CLOCK_TOLERANCE_S = 5

interface DiscoveredProvider {
  configuration: oidc.Configuration
  issuer: string
  keys: ReturnType<typeof createRemoteJWKSet>
}

/** Identity provider from the configuration (OpenID Connect); without one, no login is possible. */
export function createIdentityProvider(options: ProviderOptions | undefined): IdentityProvider {
  if (options === undefined) {
    const absent = async () => {
      throw new ServiceError('NotFound', { detail: 'No external identity provider is configured.' })
    }
    return { fromCode: absent, fromIdToken: absent }
  }
  const loadProvider = cacheOnSuccess(() => discoverProvider(options))
  return {
    fromCode: ({ code, redirectUri, codeVerifier, nonce }) =>
      translateProviderErrors(async () => {
        const provider = await loadProvider()
        const idToken = await exchangeCode(provider, { code, redirectUri, codeVerifier })
        const claims = await verifyIdToken(idToken, [options.clientId], provider)
        requireNonce(claims, nonce)
        return toExternalIdentity(claims, provider)
      }),
    fromIdToken: (idToken, nonce) =>
      translateProviderErrors(async () => {
        const provider = await loadProvider()
        const claims = await verifyIdToken(idToken, [options.clientId, ...options.audiences], provider)
        requireNonce(claims, nonce)
        return toExternalIdentity(claims, provider)
      }),
  }
}

/** Caches a successful result; a failure is retried with the next request. */
function cacheOnSuccess<T>(find: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined
  return () => {
    value ??= find().catch((error: unknown) => {
      value = undefined
      throw error
    })
    return value
  }
}

async function discoverProvider({
  issuer,
  clientId,
  clientSecret,
}: ProviderOptions): Promise<DiscoveredProvider> {
  const url = new URL(issuer)
  const local = url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  const configuration = await oidc.discovery(
    url,
    clientId,
    clientSecret,
    oidc.ClientSecretPost(clientSecret),
    {
      timeout: PROVIDER_TIMEOUT_S,
      ...(local ? { execute: [oidc.allowInsecureRequests] } : {}),
    },
  )
  const { jwks_uri, issuer: providerIssuer } = configuration.serverMetadata()
  if (jwks_uri === undefined) throw new Error('The identity provider publishes no jwks_uri')
  const keys = createRemoteJWKSet(new URL(jwks_uri), { timeoutDuration: PROVIDER_TIMEOUT_S * 1000 })
  return { configuration, issuer: providerIssuer, keys }
}

/** Errors of openid-client, which checks the ID token before we do. */
const REFUSED_TOKEN_CODES = [
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_UNSUPPORTED_OPERATION',
]

/** @returns the ID token for an authorization code */
async function exchangeCode(
  { configuration }: DiscoveredProvider,
  { code, redirectUri, codeVerifier }: { code: string; redirectUri: string; codeVerifier: string },
): Promise<string> {
  const parameters = { code, redirect_uri: redirectUri, code_verifier: codeVerifier }
  const answer = await oidc
    .genericGrantRequest(configuration, 'authorization_code', parameters)
    .catch((error: unknown) => {
      const isRefused = error instanceof oidc.ClientError && REFUSED_TOKEN_CODES.includes(error.code ?? '')
      throw isRefused ? identityRefusedError('The ID token is invalid.', error) : error
    })
  if (answer.id_token === undefined) throw identityRefusedError('The identity provider sent no ID token.')
  return answer.id_token
}

async function verifyIdToken(
  idToken: string,
  audience: string[],
  { issuer, keys }: DiscoveredProvider,
): Promise<JWTPayload> {
  const { payload, protectedHeader } = await jwtVerify(idToken, keys, {
    algorithms: ALLOWED_ALGORITHMS,
    issuer: [issuer, ...(ISSUER_ALIASES[issuer] ?? [])],
    audience,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['sub', 'exp', 'iat'],
  })
  // RFC 8725, 3.11: the provider signs access tokens and logout tokens, too.
  if (!/^(application\/)?jwt$/i.test(protectedHeader.typ ?? 'JWT') || 'events' in payload)
    throw identityRefusedError('The token is not an ID token.')
  const { azp, aud } = payload
  if (Array.isArray(aud) && aud.length > 1 && !audience.includes(String(azp)))
    throw identityRefusedError('The token was issued to another client.')
  return payload
}

function requireNonce(claims: JWTPayload, nonce: string | undefined): void {
  if (claims.nonce !== nonce) throw identityRefusedError('The nonce does not match the token.')
}

function toExternalIdentity(
  { sub, email, email_verified }: JWTPayload,
  { issuer }: DiscoveredProvider,
): ExternalIdentity {
  if (email_verified !== true || typeof email !== 'string')
    throw identityRefusedError('The identity provider has not verified the e-mail address.')
  // All persons without a subject would be the same one.
  if (typeof sub !== 'string' || sub === '')
    throw identityRefusedError('The identity provider names no subject.')
  return { issuer, subject: sub, email: toLowerCaseLogin(email) }
}

const identityRefusedError = (detail: string, cause?: unknown) =>
  new ServiceError('IdentityRefused', { detail, cause })

/** Errors of jose when it cannot fetch the provider's keys: generic for another status than 200, or for no JSON. */
const OUTAGE_CODES: readonly string[] = [
  errors.JOSEError.code,
  errors.JWKSTimeout.code,
  errors.JWKSInvalid.code,
]

/** Refusals of the code or its redirect URI, for which Google has a name of its own. */
const REFUSED_CODE_ERRORS = ['invalid_grant', 'invalid_request', 'redirect_uri_mismatch']

/** Refusals of a client that is not known, has a wrong secret, or may not do this. */
const REFUSED_CLIENT_ERRORS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type']

/** @returns the status and error by which the provider refuses this service, for its operator */
function describeClientRefusal(error: unknown): string | undefined {
  if (error instanceof oidc.WWWAuthenticateChallengeError) return String(error.status)
  if (error instanceof oidc.ResponseBodyError)
    return REFUSED_CLIENT_ERRORS.includes(error.error) ? `${error.status} ${error.error}` : undefined
  const status = findStatus(error)
  return status === 401 || status === 403 ? String(status) : undefined
}

/** openid-client keeps an unexpected response as the cause of an error, or of its cause. */
function findStatus(error: unknown): number | undefined {
  if (error instanceof Response) return error.status
  return error instanceof Error ? findStatus(error.cause) : undefined
}

/**
 * A rejection of the token or the code is the caller's error; one of the service itself must be corrected by its
 * operator. A provider that does not respond as it should is an outage.
 */
async function translateProviderErrors(work: () => Promise<ExternalIdentity>): Promise<ExternalIdentity> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (error instanceof oidc.ResponseBodyError && REFUSED_CODE_ERRORS.includes(error.error))
      throw identityRefusedError('The identity provider rejects the authorization code.', error)
    const refusal = describeClientRefusal(error)
    if (refusal !== undefined)
      throw new ServiceError('IdentityProviderFailed', {
        cause: new Error(
          `The identity provider answered ${refusal}: check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET`,
        ),
      })
    if (error instanceof errors.JOSEError && !OUTAGE_CODES.includes(error.code))
      throw identityRefusedError('The ID token is invalid.', error)
    throw new ServiceError('Unavailable', {
      detail: 'The identity provider does not respond, or not as expected.',
      retryAfter: 30,
      cause: error,
    })
  }
}
