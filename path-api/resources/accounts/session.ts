import { Type } from '@sinclair/typebox'
import { Session } from '../../../schemas/accounts/login.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { defineListOperation } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'
import { refreshCookieHeader } from './logins.ts'

const sessionSource = 'sessions'

export const sessionOperations = [
  defineOperation({
    id: 'logOut',
    method: 'post',
    path: '/auth/logout',
    summary: 'End this session with its tokens and its class-family session token',
    source: sessionSource,
    extra: true,
    access: 'user',
    reply: [204],
    handle: async (_, { sessions, principal, pathPrefix }) => {
      await sessions.end(principal.mvUid, principal.sessionId)
      const headers = principal.helper ? {} : refreshCookieHeader(pathPrefix, '', 0)
      return replyWith(undefined, { headers })
    },
  }),
  defineListOperation({
    id: 'listSessions',
    path: '/auth/sessions',
    summary: 'List the active sessions, with their devices and last use',
    source: sessionSource,
    extra: true,
    access: 'account',
    item: Session,
    handle: ({ page }, { sessions, principal }) => sessions.list(principal.mvUid, principal.sessionId, page),
  }),
  defineOperation({
    id: 'endSession',
    method: 'delete',
    path: '/auth/sessions/{sid}',
    params: {
      sid: Type.String({
        description: 'Session id',
        pattern: '^[A-Za-z0-9]{1,64}$',
        examples: ['s8RtUv12Qx'],
      }),
    },
    summary: 'End one of your sessions',
    source: sessionSource,
    extra: true,
    access: 'account',
    reply: [204],
    handle: async ({ params }, { sessions, principal, ifMatch }) => {
      // Sessions have no versions, so a condition on one always fails.
      if (Array.isArray(ifMatch)) throw new ServiceError('PreconditionFailed')
      if (!(await sessions.end(principal.mvUid, params.sid))) throw new ServiceError('NotFound')
    },
  }),
]
