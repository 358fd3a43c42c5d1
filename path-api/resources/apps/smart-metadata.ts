import { Type } from '@sinclair/typebox'
import { resourceTypes } from '../../../fhir/resource-types.ts'
import { CONTEXT_SCOPES } from '../../../records/accounts/apps/app-scopes.ts'
import { defineOperation } from '../../operation/operation.ts'
import { describedBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'
import { FHIR_PATH, fhirOperation } from '../fhir/fhir-operation.ts'
import { smartUrls } from '../smart-urls.ts'

const CAPABILITIES = [
  'launch-standalone',
  'launch-ehr',
  'context-standalone-patient',
  'context-ehr-patient',
  'authorize-post',
  'sso-openid-connect',
  'client-public',
  'client-confidential-symmetric',
  'client-confidential-asymmetric',
  'permission-offline',
  'permission-online',
  'permission-patient',
  'permission-user',
  'permission-v1',
  'permission-v2',
]

const RESOURCE_SCOPES = ['patient', 'user', 'system'].flatMap((level) =>
  ['*', ...resourceTypes.map(({ type }) => type)].flatMap((type) => [
    `${level}/${type}.cruds`,
    `${level}/${type}.rs`,
  ]),
)

/** The metadata of the OAuth server for apps (SMART App Launch 2.2; OpenID Connect Discovery 1.0). */
const smartConfiguration = (publicUrl: string) => {
  const { authorize, token, introspect, revoke, keys, manage } = smartUrls(publicUrl)
  return {
    issuer: publicUrl,
    jwks_uri: keys,
    authorization_endpoint: authorize,
    token_endpoint: token,
    introspection_endpoint: introspect,
    revocation_endpoint: revoke,
    management_endpoint: manage,
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    scopes_supported: [...CONTEXT_SCOPES, ...RESOURCE_SCOPES],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'none',
    ],
    token_endpoint_auth_signing_alg_values_supported: ['RS384', 'ES384'],
    id_token_signing_alg_values_supported: ['ES256'],
    subject_types_supported: ['public'],
    claims_supported: ['sub', 'iss', 'aud', 'exp', 'iat', 'nonce', 'fhirUser'],
    authorization_response_iss_parameter_supported: true,
    capabilities: CAPABILITIES,
  }
}

const ConfigurationBody = describedBody(
  Type.Unsafe<object>({
    type: 'object',
    additionalProperties: true,
    description: 'Endpoints and capabilities of the OAuth server',
  }),
  'application/json',
)

const HEADERS = { 'cache-control': 'public, max-age=3600' }

const common = {
  method: 'get',
  access: 'public',
  publicDocument: true,
  reply: [200, ConfigurationBody],
} as const

export const smartMetadataOperations = [
  defineOperation({
    ...fhirOperation,
    ...common,
    id: 'describeSmartConfiguration',
    path: `${FHIR_PATH}/.well-known/smart-configuration`,
    summary: 'Get the OAuth metadata for SMART apps',
    handle: (_, { publicUrl }) =>
      replyWith(JSON.stringify(smartConfiguration(publicUrl)), { headers: HEADERS }),
  }),
  defineOperation({
    ...common,
    source: 'SMART App Launch 2.2',
    extra: true,
    id: 'describeOpenIdConfiguration',
    path: '/.well-known/openid-configuration',
    summary: 'Get the OpenID metadata for programs that verify ID tokens',
    handle: (_, { publicUrl }) =>
      replyWith(JSON.stringify(smartConfiguration(publicUrl)), { headers: HEADERS }),
  }),
]
