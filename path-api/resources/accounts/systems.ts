import { grantRefused } from '../../../records/accounts/apps/app-grants.ts'
import {
  ClientCredentials,
  ClientToken,
  ConnectedSystem,
  RegisteredSystem,
  SystemCreate,
} from '../../../schemas/accounts/connected-system.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRecordIdSchema } from '../../operation/path-parameters.ts'
import { formBody } from '../../reply/body-media.ts'
import { replyWith } from '../../reply/reply.ts'
import { readClientCredentials } from '../apps/client-credentials.ts'

const common = { source: 'Operations of our own: connected systems', extra: true } as const
const systemPath = '/auth/system/{systemId}'
const params = { systemId: createRecordIdSchema('Id of the system', 'system-q3WrTy78Lp') }

export const systemOperations = [
  defineListOperation({
    ...common,
    id: 'listSystems',
    path: '/auth/system',
    summary: 'List the connected systems',
    access: 'admin',
    item: ConnectedSystem,
    handle: ({ page }, { systems }) => systems.list(page),
  }),
  defineOperation({
    ...common,
    id: 'registerSystem',
    method: 'post',
    path: '/auth/system',
    summary: 'Register a system that may use the openEHR REST API',
    description:
      'The response shows the key of the system once. The system can create EHRs for subjects and sees those that it created. Each of its accesses is in the audit with its name.',
    access: 'admin',
    body: SystemCreate,
    reply: [201, RegisteredSystem, 'versioned'],
    errors: ['Conflict'],
    handle: async ({ body: { name, roles = [] } }, { systems, newId }) => {
      const { system, clientSecret, keyId } = await systems.register(newId(), { name, roles })
      return replyWith({ ...system, clientSecret }, { version: keyId })
    },
  }),
  defineOperation({
    ...common,
    id: 'renewSystemKey',
    method: 'post',
    path: `${systemPath}/key`,
    params,
    summary: 'Replace the key of a connected system',
    description: 'The former key and its tokens stop working within five seconds.',
    access: 'admin',
    reply: [200, RegisteredSystem],
    handle: async ({ params: { systemId } }, { systems }) => {
      const { system, clientSecret } = await systems.renewKey(systemId)
      return { ...system, clientSecret }
    },
  }),
  defineOperation({
    ...common,
    id: 'revokeSystemKey',
    method: 'post',
    path: `${systemPath}/revoke`,
    params,
    summary: 'Lock out a connected system',
    description: 'Locks the system out. Its EHRs stay; a new key lets it in again.',
    access: 'admin',
    reply: [204],
    handle: ({ params: { systemId } }, { systems }) => systems.revokeKey(systemId),
  }),
  defineOperation({
    ...common,
    id: 'issueSystemToken',
    method: 'post',
    path: '/auth/token',
    summary: 'Exchange the key of a connected system for an access token',
    description:
      'OAuth 2.0, client credentials (RFC 6749, 4.4). The token is valid for 15 minutes, and for the openEHR REST API only.',
    access: 'public',
    api: 'oauth',
    openQuery: true,
    ignoresEmpty: true,
    body: formBody(ClientCredentials),
    reply: [200, ClientToken],
    errors: ['ClientRefused', 'GrantRefused'],
    handle: async ({ body }, { systems, basicCredentials }) => {
      if (body.grant_type !== 'client_credentials')
        throw grantRefused('unsupported_grant_type', 'This grant is not supported')
      const { clientId = '', secret = '' } = readClientCredentials(body, basicCredentials)
      const { token, lifetime } = await systems.issueToken(clientId, secret)
      return { access_token: token, token_type: 'Bearer', expires_in: lifetime }
    },
  }),
]
