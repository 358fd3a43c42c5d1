import { randomUUID } from 'node:crypto'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'
import { type Answer, assertStatus } from '../clients/path-client.ts'
import { service } from '../service/service.ts'
import { createRestSystem, type RestSystem } from './rest-systems.ts'
import { type AppGrant, createSmartApp, postForm, type SmartApp, withToken } from './smart-apps.ts'

/** The claims of an assertion; undefined: the usual ones. */
export interface AssertionChange {
  aud?: string
  iss?: string
  sub?: string
  /** Seconds from now. */
  exp?: number | null
  jti?: unknown
  header?: Partial<JWTHeaderParameters>
  by?: CryptoKey | Uint8Array
}

/** Signs assertions with a key, of which it shows the public part. */
export interface AssertionSigner {
  jwk: object
  sign(clientId: string, change?: AssertionChange): Promise<string>
}

/** An app that acts with the rights of a connected system. */
export interface BackendService {
  app: SmartApp
  system: RestSystem
  signer: AssertionSigner
  requestToken(scope: string, change?: AssertionChange): Promise<Answer>
  /** @returns calls with a token of these scopes */
  logIn(scope: string): Promise<AppGrant['call']>
}

export async function createSigner(alg: 'ES384' | 'RS384' = 'ES384'): Promise<AssertionSigner> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  const kid = randomUUID()
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg },
    sign: (clientId, { aud, iss = clientId, sub = clientId, exp = 240, jti, header, by } = {}) => {
      const jwt = new SignJWT(jti === null ? {} : ({ jti: jti ?? randomUUID() } as JWTPayload))
        .setProtectedHeader({ alg, kid, typ: 'JWT', ...header })
        .setIssuer(iss)
        .setSubject(sub)
        .setAudience(aud ?? `${service.url}/auth/smart/token`)
      if (exp !== null) jwt.setExpirationTime(Math.floor(Date.now() / 1000) + exp)
      return jwt.sign(by ?? privateKey)
    },
  }
}

export const assertionForm = (assertion: string): Record<string, string> => ({
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: assertion,
})

/** The form with which a backend service asks for a token. */
export const credentialsForm = (scope: string, assertion: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  scope,
  ...assertionForm(assertion),
})

/** Registers a connected system and an app for it, as an administrator does. */
export async function createBackendService(
  scopes: string[],
  more: object = {},
  signer?: AssertionSigner,
): Promise<BackendService> {
  const [system, own] = await Promise.all([createRestSystem(), signer ?? createSigner()])
  const app = await createSmartApp(scopes, {
    authentication: 'key',
    systemId: system.id,
    redirectUris: [],
    ...('jwksUri' in more ? {} : { jwks: { keys: [own.jwk] } }),
    ...more,
  })
  const requestToken = async (scope: string, change?: AssertionChange) =>
    postForm('/auth/smart/token', credentialsForm(scope, await own.sign(app.id, change)))
  const logIn = async (scope: string) => withToken(assertStatus(await requestToken(scope)).access_token)
  return { app, system, signer: own, requestToken, logIn }
}

/** Creates an EHR for which a system is responsible. @returns its id */
export async function createEhrOfSystem({ rest }: RestSystem): Promise<string> {
  const created = await rest('POST', '/ehr', undefined)
  assertStatus(created, 201)
  return created.etag.slice(1, -1)
}
