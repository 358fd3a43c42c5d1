import { type Static, Type } from '@sinclair/typebox'
import type { ClientProof } from '../../../records/accounts/apps/app-clients.ts'
import { type AppTokenGrant, grantRefused } from '../../../records/accounts/apps/app-grants.ts'
import type { App } from '../../../schemas/accounts/app.ts'
import { closedObject } from '../../../schemas/common.ts'
import type { Context } from '../../operation/context.ts'
import { defineOperation } from '../../operation/operation.ts'
import { formBody } from '../../reply/body-media.ts'
import { SMART_PATHS } from '../smart-urls.ts'
import { openForm, textField } from './authorization/authorization-request.ts'
import { readClientCredentials } from './client-credentials.ts'

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const clientFields = {
  client_id: textField(
    'Id of the app, unless the header Authorization contains it (Basic)',
    100,
    'app-q3WrTy78Lp',
  ),
  client_secret: textField('Secret of the app, unless the header Authorization contains it (Basic)', 200),
  client_assertion_type: textField(`\`${ASSERTION_TYPE}\``, 100),
  client_assertion: textField('Assertion that the app has signed with its key (RFC 7523)', 4000),
}

const TokenRequest = Type.Object(
  {
    grant_type: Type.String({
      pattern: '^[!-~]*$',
      maxLength: 100,
      description: 'Grant: authorization_code, refresh_token, or client_credentials for a backend service',
      examples: ['authorization_code'],
    }),
    code: textField('Code that the app received', 200),
    redirect_uri: textField('Redirect URI of the code', 500),
    code_verifier: textField('Secret whose hash the app sent (PKCE)', 200),
    refresh_token: textField('Refresh token', 200),
    scope: textField(
      'Scopes that a backend service requests, or fewer scopes than the refresh token has',
      4000,
    ),
    ...clientFields,
  },
  { ...openForm, description: 'Request for tokens' },
)

const TokenForm = Type.Object(
  {
    token: Type.String({ pattern: '^[ -~]*$', maxLength: 8000, description: 'Access or refresh token' }),
    token_type_hint: textField('Ignored: the service recognises its tokens', 100),
    ...clientFields,
  },
  { ...openForm, description: 'A token of the app' },
)

const SmartTokens = closedObject('SmartTokens', 'Tokens of an app, with the patient of the launch', {
  access_token: Type.String({ description: 'Access token for the FHIR API' }),
  token_type: Type.String({ description: 'Type of the token', examples: ['Bearer'] }),
  expires_in: Type.Integer({ description: 'Lifetime of the token in seconds', examples: [3600] }),
  scope: Type.String({ description: 'Scopes of the token', examples: ['launch/patient patient/*.rs'] }),
  refresh_token: Type.Optional(
    Type.String({ description: 'Refresh token, with offline_access or online_access' }),
  ),
  id_token: Type.Optional(Type.String({ description: 'ID token, with openid' })),
  patient: Type.Optional(Type.String({ description: 'Id of the patient', examples: ['e5RtGb81Xz'] })),
  need_patient_banner: Type.Optional(
    Type.Boolean({ description: 'True if the app must display the patient’s identity' }),
  ),
})

const Introspection = closedObject('Introspection', 'State of a token (RFC 7662)', {
  active: Type.Boolean({ description: 'True while the token can be used' }),
  scope: Type.Optional(Type.String({ description: 'Scopes' })),
  client_id: Type.Optional(Type.String({ description: 'Id of the app' })),
  exp: Type.Optional(Type.Integer({ description: 'Expiry, in seconds since 1970' })),
  sub: Type.Optional(Type.String({ description: 'Id of the user' })),
  iss: Type.Optional(Type.String({ description: 'Issuer' })),
  patient: Type.Optional(Type.String({ description: 'Id of the patient' })),
  fhirUser: Type.Optional(Type.String({ description: 'Resource about the user' })),
})

type ClientFields = { [K in keyof typeof clientFields]?: string | undefined }

/** @throws ClientRefused; GrantRefused for an ambiguous request */
async function identifyApp(
  body: ClientFields,
  { appClients, basicCredentials }: Context<'public'>,
): Promise<App> {
  const isAssertion = body.client_assertion_type === ASSERTION_TYPE
  const proof: ClientProof = {
    ...readClientCredentials(body, basicCredentials),
    assertion: isAssertion ? (body.client_assertion ?? '') : undefined,
  }
  return appClients.identify(proof)
}

/** SMART App Launch has no client_id in the refresh of a public app: the token tells the app. */
async function withAppOfToken(
  body: Static<typeof TokenRequest>,
  { appGrants, basicCredentials }: Context<'public'>,
): Promise<ClientFields> {
  const { grant_type, refresh_token, client_id, client_assertion } = body
  const isNamed = basicCredentials !== undefined || client_id !== undefined || client_assertion !== undefined
  if (grant_type !== 'refresh_token' || refresh_token === undefined || isNamed) return body
  return { ...body, client_id: await appGrants.findAppId(refresh_token) }
}

type TokenHandler = (
  app: App,
  body: Static<typeof TokenRequest>,
  context: Context<'public'>,
) => Promise<AppTokenGrant>

const GRANTS: Readonly<Record<string, TokenHandler>> = {
  authorization_code: (
    app,
    { code = '', redirect_uri: redirectUri = '', code_verifier: verifier = '' },
    { appGrants },
  ) => appGrants.redeemCode(app, { code, redirectUri, verifier }),
  client_credentials: (app, { scope = '' }, { backendServices }) => backendServices.issueToken(app, scope),
  refresh_token: (app, { refresh_token = '', scope }, { appGrants }) =>
    appGrants.refresh(app, refresh_token, scope),
}

const common = {
  source: 'SMART App Launch 2.2',
  extra: true,
  api: 'oauth',
  method: 'post',
  access: 'public',
  // OAuth 2.0 demands that unknown parameters are ignored.
  openQuery: true,
  ignoresEmpty: true,
} as const

/** The endpoints of OAuth that programs call. */
export const smartTokenOperations = [
  defineOperation({
    ...common,
    id: 'issueAppToken',
    path: SMART_PATHS.token,
    summary: 'Exchange a code, a refresh token or the assertion of a backend service for tokens',
    description:
      'A code works once, for a minute. A refresh token can be exchanged once; a second exchange within ten seconds returns the same new one, later the access of the app ends. A backend service signs an assertion for each token, which lasts five minutes.',
    body: formBody(TokenRequest),
    reply: [200, SmartTokens],
    errors: ['GrantRefused', 'ClientRefused'],
    handle: async ({ body }, context) => {
      const app = await identifyApp(await withAppOfToken(body, context), context)
      const grant = Object.hasOwn(GRANTS, body.grant_type) ? GRANTS[body.grant_type] : undefined
      if (!grant) throw grantRefused('unsupported_grant_type', 'This grant is not supported')
      return grant(app, body, context)
    },
  }),
  defineOperation({
    ...common,
    id: 'introspectAppToken',
    path: SMART_PATHS.introspect,
    summary: 'Introspect an access token',
    description: 'Tokens of other apps look like unknown ones, as do those whose scopes the app has lost.',
    body: formBody(TokenForm),
    reply: [200, Introspection],
    errors: ['ClientRefused', 'GrantRefused'],
    handle: async ({ body }, context) => {
      const { appGrants, publicUrl } = context
      const { id } = await identifyApp(body, context)
      const access = await appGrants.findAccess(body.token)
      if (access?.app.id !== id || access.scopes.length === 0) return { active: false }
      const { sub, exp, scopes, patient } = access
      const fhirUser = scopes.includes('fhirUser') ? await appGrants.findFhirUser(sub) : undefined
      return {
        active: true,
        scope: scopes.join(' '),
        client_id: id,
        exp,
        sub,
        iss: publicUrl,
        ...(patient !== undefined && { patient }),
        ...(fhirUser !== undefined && { fhirUser }),
      }
    },
  }),
  defineOperation({
    ...common,
    id: 'revokeAppToken',
    path: SMART_PATHS.revoke,
    summary: 'End the access of an app by one of its tokens',
    description:
      'RFC 7009. The response is the same for an unknown token. Tokens of backend services cannot be revoked: they end after five minutes.',
    body: formBody(TokenForm),
    reply: [200],
    errors: ['ClientRefused', 'GrantRefused'],
    handle: async ({ body }, context) =>
      context.appGrants.revoke(await identifyApp(body, context), body.token),
  }),
]
