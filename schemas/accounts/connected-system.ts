import { type Static, Type } from '@sinclair/typebox'
import { closedObject, displayedNameField } from '../common.ts'
import { SystemRoleEnum } from '../enums.ts'

/** Not a set: Java has no sets of unnamed enumerations, and Go no two named ones with the same value. */
const systemRolesField = Type.Array(SystemRoleEnum, {
  maxItems: 10,
  description: 'Roles; by default none. A repeated one counts once',
  examples: [['modeller']],
})

const systemNameField = displayedNameField('Name of the system, as the audit shows it', 'Laboratory')

export const SystemCreate = closedObject('SystemCreate', 'A system to be connected', {
  name: systemNameField,
  roles: Type.Optional(systemRolesField),
})

export const ConnectedSystem = closedObject(
  'ConnectedSystem',
  'A system that an administrator has registered',
  {
    id: Type.String({
      description: 'Id of the system: its OAuth client id',
      examples: ['system-q3WrTy78Lp'],
    }),
    name: systemNameField,
    roles: systemRolesField,
    active: Type.Boolean({ description: 'False after its key was revoked', examples: [true] }),
    createdAt: Type.String({ format: 'date-time', description: 'Time of registration' }),
  },
)
export type ConnectedSystem = Static<typeof ConnectedSystem>

export const RegisteredSystem = closedObject('RegisteredSystem', 'A connected system with its new key', {
  ...ConnectedSystem.properties,
  clientSecret: Type.String({
    description: 'Key of the system: its OAuth client secret. It is not shown again',
    examples: ['k7Qm2Xv9Lr4Tz8Np1Wd6Bs3Hf5Jc0Gy7Aq2Ue9Ix4Ro'],
  }),
})

/** RFC 6749, 4.4. OAuth 2.0 demands that unknown parameters are ignored. */
const clientCredentialFields = {
  grant_type: Type.String({
    pattern: '^[!-~]*$',
    maxLength: 100,
    description: '`client_credentials` (RFC 6749, 4.4)',
    examples: ['client_credentials'],
  }),
  client_id: Type.Optional(
    Type.String({
      maxLength: 100,
      examples: ['system-q3WrTy78Lp'],
      description: 'Id of the system, unless the header Authorization contains it (Basic)',
    }),
  ),
  client_secret: Type.Optional(
    Type.String({
      pattern: '^[!-~]*$',
      maxLength: 200,
      examples: ['k7Qm2Xv9Lr4Tz8Np1Wd6Bs3Hf5Jc0Gy7Aq2Ue9Ix4Ro'],
      description: 'Key of the system, unless the header Authorization contains it (Basic)',
    }),
  ),
  scope: Type.Optional(
    Type.String({
      pattern: '^[ -~]*$',
      maxLength: 1000,
      description: 'Ignored: the roles of the system decide',
      examples: ['openid'],
    }),
  ),
}

export const ClientCredentials = Type.Object(clientCredentialFields, {
  $id: 'ClientCredentials',
  description: 'The credentials of a connected system',
  additionalProperties: true,
})

export const ClientToken = closedObject('ClientToken', 'An access token of a connected system', {
  access_token: Type.String({ description: 'Access token', examples: ['eyJhbGciOiJFUzI1NiJ9…'] }),
  token_type: Type.String({ description: 'Type of the token', examples: ['Bearer'] }),
  expires_in: Type.Integer({ description: 'Lifetime of the token in seconds', examples: [900] }),
})
