import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { type Answer, assertStatus, call } from '../clients/path-client.ts'
import { service } from '../service/service.ts'
import { createAdmin, type Person } from './people.ts'

/** A registered app. */
export interface SmartApp {
  id: string
  name: string
  redirectUri: string
  clientSecret: string | undefined
  /** The administrator who registered it. */
  admin: Person
}

const REDIRECT_URI = 'https://app.example.org/callback'

const fhirBase = () => `${service.url}/fhir/R4`

/** Registers an app as an administrator does. */
export async function createSmartApp(scopes: string[], more: object = {}): Promise<SmartApp> {
  const admin = await createAdmin()
  const name = `App ${randomUUID()}`
  const body = { name, authentication: 'public', redirectUris: [REDIRECT_URI], scopes, ...more }
  const { id, clientSecret } = assertStatus(await admin.call('POST', '/auth/app', body), 201)
  return { id, name, redirectUri: REDIRECT_URI, clientSecret, admin }
}

export const postForm = (
  path: string,
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  call('POST', path, Buffer.from(String(new URLSearchParams(form))), {
    'content-type': 'application/x-www-form-urlencoded',
    ...headers,
  })

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/** The parameters of an authorization request of an app. */
export const authorizationOf = (
  { id, redirectUri }: SmartApp,
  scope: string,
  verifier: string,
): Record<string, string> => ({
  response_type: 'code',
  client_id: id,
  redirect_uri: redirectUri,
  scope,
  state: randomUUID(),
  aud: fhirBase(),
  code_challenge: challengeOf(verifier),
  code_challenge_method: 'S256',
})

export const newVerifier = (): string => randomBytes(32).toString('base64url')

/** The hidden fields of a form, with those that a person fills in. */
const filledForm = (page: string, more: Record<string, string>): Record<string, string> => ({
  ...Object.fromEntries(
    [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    ]),
  ),
  ...more,
})

/** Opens the page of an authorization request and logs in. @returns the response to the login */
export async function logInOnPage(who: Person, parameters: Record<string, string>): Promise<Answer> {
  const page = assertStatus(await call('GET', `/auth/smart/authorize?${new URLSearchParams(parameters)}`))
  const { email, password } = who
  return postForm('/auth/smart/login', filledForm(page, { email, password }))
}

/** Opens the page of an authorization request and logs in. @returns the page with the request of the app */
export const openRequest = async (who: Person, parameters: Record<string, string>): Promise<string> =>
  assertStatus(await logInOnPage(who, parameters))

/** Decides on a request. @returns the parameters that the app receives */
export async function decide(
  page: string,
  decision: 'admit' | 'refuse',
  patient?: string,
): Promise<URLSearchParams> {
  const answer = await postForm(
    '/auth/smart/decision',
    filledForm(page, { decision, ...(patient !== undefined && { patient }) }),
  )
  assert.equal(answer.status, 303, JSON.stringify(answer.body))
  return new URL(answer.headers.get('location') ?? '').searchParams
}

/** The tokens and parameters of an app that a person has admitted. */
export interface AppGrant {
  app: SmartApp
  tokens: Record<string, string> & { access_token: string; scope: string }
  /** Calls any path with the access token. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
}

export const withToken =
  (token: string): AppGrant['call'] =>
  (method, path, body, headers = {}) =>
    call(method, path, body, { authorization: `Bearer ${token}`, ...headers })

/** A person admits an app, which exchanges its code. */
export async function authorizeApp(
  who: Person,
  app: SmartApp,
  scope: string,
  patient?: string,
): Promise<AppGrant> {
  const verifier = newVerifier()
  const page = await openRequest(who, authorizationOf(app, scope, verifier))
  const code = (await decide(page, 'admit', patient)).get('code') ?? ''
  const tokens = assertStatus(await redeemCode(app, code, verifier))
  return { app, tokens, call: withToken(tokens.access_token) }
}

export const redeemCode = (
  app: SmartApp,
  code: string,
  verifier: string,
  more: object = {},
): Promise<Answer> =>
  postForm('/auth/smart/token', {
    grant_type: 'authorization_code',
    client_id: app.id,
    code,
    redirect_uri: app.redirectUri,
    code_verifier: verifier,
    ...(app.clientSecret !== undefined && { client_secret: app.clientSecret }),
    ...more,
  })
