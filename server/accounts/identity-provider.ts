import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import type { ExternalIdentity, IdentityProvider } from '../../records/accounts/login/identities.ts'
import { ServiceError } from '../../schemas/errors.ts'

export interface ProviderOptions {
  issuer: string
  clientId: string
  clientSecret: string
  /** Other client ids whose ID tokens are ours too: those of the apps. */
  audiences: readonly string[]
}

/** Only signatures that a public key verifies: with the others everybody who verifies could sign. */
const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** Google writes its name in two ways. */
const aliases: Record<string, readonly string[]> = { 'https://accounts.google.com': ['accounts.google.com'] }
const timeoutSeconds = 5
/** Seconds by which the clocks may differ. */
const clockTolerance = 5

interface Discovered {
  configuration: oidc.Configuration
  issuer: string
  keys: ReturnType<typeof createRemoteJWKSet>
}

/** Logins by the configured OpenID Connect provider; without one there are none. */
export function createIdentityProvider(options: ProviderOptions | undefined): IdentityProvider {
  if (options === undefined) {
    const absent = async () => {
      throw new ServiceError('NotFound', { detail: 'No external identity provider is configured.' })
    }
    return { fromCode: absent, fromIdToken: absent }
  }
  const discovered = keptWhenFound(() => discover(options))
  return {
    fromCode: ({ code, redirectUri, codeVerifier }) =>
      answered(async () => {
        const provider = await discovered()
        const answer = await oidc.genericGrantRequest(provider.configuration, 'authorization_code', {
          code,
          redirect_uri: redirectUri,
          ...(codeVerifier === undefined ? {} : { code_verifier: codeVerifier }),
        })
        if (answer.id_token === undefined) throw refused('The provider sent no ID token.')
        return identityOf(await verify(answer.id_token, [options.clientId], provider), provider)
      }),
    fromIdToken: (idToken, nonce) =>
      answered(async () => {
        const provider = await discovered()
        const claims = await verify(idToken, [options.clientId, ...options.audiences], provider)
        if (claims.nonce !== nonce) throw refused('The nonce does not match the token.')
        return identityOf(claims, provider)
      }),
  }
}

/** What has been found is kept; what has failed is tried again with the next request. */
function keptWhenFound<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => {
    found ??= find().catch((error: unknown) => {
      found = undefined
      throw error
    })
    return found
  }
}

async function discover({ issuer, clientId, clientSecret }: ProviderOptions): Promise<Discovered> {
  const url = new URL(issuer)
  const local = url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname)
  const configuration = await oidc.discovery(
    url,
    clientId,
    clientSecret,
    oidc.ClientSecretPost(clientSecret),
    {
      timeout: timeoutSeconds,
      ...(local ? { execute: [oidc.allowInsecureRequests] } : {}),
    },
  )
  const { jwks_uri, issuer: name } = configuration.serverMetadata()
  if (jwks_uri === undefined) throw new Error('The identity provider names no keys')
  const keys = createRemoteJWKSet(new URL(jwks_uri), { timeoutDuration: timeoutSeconds * 1000 })
  return { configuration, issuer: name, keys }
}

async function verify(
  idToken: string,
  audience: string[],
  { issuer, keys }: Discovered,
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(idToken, keys, {
    algorithms,
    issuer: [issuer, ...(aliases[issuer] ?? [])],
    audience,
    clockTolerance,
    requiredClaims: ['sub', 'exp', 'iat'],
  })
  const { azp, aud } = payload
  if (Array.isArray(aud) && aud.length > 1 && !audience.includes(String(azp)))
    throw refused('The token was issued to another client.')
  return payload
}

function identityOf({ sub, email, email_verified }: JWTPayload, { issuer }: Discovered): ExternalIdentity {
  if (email_verified !== true || typeof email !== 'string')
    throw refused('The provider has not verified the e-mail address.')
  return { issuer, subject: String(sub), email: email.toLowerCase() }
}

const refused = (detail: string, cause?: unknown) => new ServiceError('IdentityRefused', { detail, cause })

/** What the provider or its token says no to is the caller's; a provider that does not answer is nobody's. */
async function answered(work: () => Promise<ExternalIdentity>): Promise<ExternalIdentity> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (error instanceof oidc.ResponseBodyError && ['invalid_grant', 'invalid_request'].includes(error.error))
      throw refused('The provider does not accept the code.', error)
    const unreachable = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid
    if (error instanceof errors.JOSEError && !unreachable) throw refused('The ID token is invalid.', error)
    throw new ServiceError('Unavailable', {
      detail: 'The external identity provider does not answer.',
      retryAfter: 30,
      cause: error,
    })
  }
}
