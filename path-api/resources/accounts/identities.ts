import { Type } from '@sinclair/typebox'
import { LinkedIdentity } from '../../../schemas/accounts/login.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'

const identityDefaults = { source: 'external identities', extra: true, access: 'account' } as const

export const identityOperations = [
  defineListOperation({
    ...identityDefaults,
    id: 'listIdentities',
    path: '/auth/identities',
    summary: 'List the external identities that can log in to your account',
    item: LinkedIdentity,
    handle: ({ page }, { identities, principal }) => identities.list(principal.mvUid, page),
  }),
  defineOperation({
    ...identityDefaults,
    id: 'unlinkIdentity',
    method: 'delete',
    path: '/auth/identities/{identityId}',
    params: {
      identityId: Type.String({
        description: 'Id of the link',
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        examples: ['47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'],
      }),
    },
    summary: 'Unlink an external identity',
    description:
      'Also ends the other sessions that began with an external identity. The identity is linked again if it logs in with the verified address of the account.',
    reply: [204],
    handle: async ({ params }, { identities, principal, ifMatch }) => {
      // Links have no versions, so a condition on one always fails.
      if (Array.isArray(ifMatch)) throw new ServiceError('PreconditionFailed')
      const { mvUid, sessionId } = principal
      if (!(await identities.unlink(mvUid, params.identityId, sessionId))) throw new ServiceError('NotFound')
    },
  }),
]
