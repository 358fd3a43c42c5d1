import { type Static, Type } from '@sinclair/typebox'
import type { AppRequest } from '../../../../records/accounts/apps/app-authorizations.ts'
import { hasRedirectUri } from '../../../../records/accounts/apps/app-rules.ts'
import { isSystemScope, reduceScopes } from '../../../../records/accounts/apps/app-scopes.ts'
import type { RegisteredApps } from '../../../../records/accounts/apps/registered-apps.ts'
import type { App } from '../../../../schemas/accounts/app.ts'
import type { Violation } from '../../../../schemas/validation/violations.ts'
import { languageParameter } from '../../../pages/page.ts'
import { fhirBaseOf } from '../../smart-urls.ts'

/** A parameter of OAuth 2.0 (RFC 6749, appendix A). */
export const textField = (description: string, maxLength: number, example?: string) =>
  Type.Optional(
    Type.String({ pattern: '^[ -~]*$', maxLength, description, ...(example && { examples: [example] }) }),
  )

/** OAuth 2.0 demands that unknown parameters are ignored. */
export const openForm = { additionalProperties: true } as const

/** Parameters of an authorization request (RFC 6749, RFC 7636, SMART App Launch 2.2). Unknown ones are ignored. */
export const authorizationFields = {
  response_type: textField('`code`', 100, 'code'),
  client_id: textField('Id of the app', 100, 'app-q3WrTy78Lp'),
  redirect_uri: textField('A redirect URI of the app', 500, 'https://app.example.org/callback'),
  scope: textField('Scopes that the app asks for', 4000, 'launch/patient patient/Observation.rs'),
  state: textField('Value that the app gets back', 1000),
  aud: textField('URL of the FHIR API', 500),
  code_challenge: textField('Hash of the code verifier (PKCE)', 100),
  code_challenge_method: textField('`S256`', 20, 'S256'),
  launch: textField('Value of the launch, with the scope `launch`', 200),
  nonce: textField('Value that the ID token repeats', 500),
  prompt: textField('`none` is refused, because each request shows a page', 100, 'login'),
  request: textField('Refused: request objects are not supported', 8000),
  request_uri: textField('Refused: request objects are not supported', 500),
  lang: languageParameter,
}

export type AuthorizationParameters = Static<ReturnType<typeof Type.Object<typeof authorizationFields>>>

/** A checked request; an error that the app learns; or undefined, when nobody may be sent anywhere. */
type CheckedRequest = { app: App; request: AppRequest } | { redirect: string } | undefined

/** The URL of an app with the response to its request. */
export function responseUrl(
  redirectUri: string,
  issuer: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...parameters, iss: issuer }))
    if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

/** A fault as a code of OAuth and a sentence. */
type Fault = [error: string, description: string]

/** The first fault that makes a request unreadable, or asks for what is not offered. */
function formFaultOf(
  { prompt, request, request_uri }: AuthorizationParameters,
  invalid: string[],
): Fault | undefined {
  if (request !== undefined || invalid.includes('request'))
    return ['request_not_supported', 'request is not supported']
  if (request_uri !== undefined || invalid.includes('request_uri'))
    return ['request_uri_not_supported', 'request_uri is not supported']
  if (invalid.length > 0)
    return ['invalid_request', `These are not valid, or occur more than once: ${invalid.join(', ')}`]
  if (prompt?.split(' ').includes('none')) return ['login_required', 'Each request needs a login']
  return undefined
}

/** The first fault of the content of a request. */
function contentFaultOf(
  parameters: AuthorizationParameters,
  scopes: readonly string[],
  fhirBase: string,
): Fault | undefined {
  const { response_type, aud = '', launch, code_challenge = '', code_challenge_method } = parameters
  if (response_type === undefined) return ['invalid_request', 'response_type is required']
  if (response_type !== 'code') return ['unsupported_response_type', 'response_type must be code']
  if (aud.replace(/\/$/, '') !== fhirBase) return ['invalid_request', `aud must be ${fhirBase}`]
  if (code_challenge_method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256']
  if (!/^[\w-]{43}$/.test(code_challenge))
    return ['invalid_request', 'code_challenge must be the SHA-256 of the verifier in base64url']
  if (scopes.includes('launch') && !launch)
    return ['invalid_request', 'launch is required with the scope launch']
  return scopes.length === 0 ? ['invalid_scope', 'None of these scopes is registered for the app'] : undefined
}

/** The authorization request of an app, as it was received. */
export interface ReceivedRequest {
  /** The valid parameters. */
  parameters: AuthorizationParameters
  /** The violations of others. */
  violations: readonly Violation[]
}

/** Checks an authorization request. Only a URL that is registered for the app receives a response. */
export async function checkAuthorizationRequest(
  { parameters, violations }: ReceivedRequest,
  { apps, publicUrl }: { apps: RegisteredApps; publicUrl: string },
): Promise<CheckedRequest> {
  const { client_id = '', redirect_uri: redirectUri = '', scope = '', state, nonce } = parameters
  const app = await apps.find(client_id)
  if (!app || !hasRedirectUri(app, redirectUri)) return undefined
  // System scopes are for services that act without a person.
  const scopes = reduceScopes(scope, app.scopes).filter((one) => !isSystemScope(one))
  const names = Object.keys(authorizationFields)
  const invalid = names.filter((name) => violations.some(({ path }) => path.endsWith(`.${name}`)))
  const fault = formFaultOf(parameters, invalid) ?? contentFaultOf(parameters, scopes, fhirBaseOf(publicUrl))
  if (fault) {
    const [error, error_description] = fault
    return { redirect: responseUrl(redirectUri, publicUrl, { error, error_description, state }) }
  }
  const challenge = parameters.code_challenge ?? ''
  return { app, request: { appId: app.id, redirectUri, scopes, state, challenge, nonce } }
}
