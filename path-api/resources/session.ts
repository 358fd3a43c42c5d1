import { Type } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import { Session } from '../../schemas/login.ts'
import { list } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'

const source = 'sessions'

export const session = [
  operation({
    id: 'logOut',
    method: 'post',
    path: '/auth/logout',
    summary: 'End this session: its tokens and its class-family session token',
    source,
    extra: true,
    access: 'user',
    reply: [204],
    handle: async (_, { sessions, principal }) => {
      await sessions.end(principal.mvUid, principal.sessionId)
    },
  }),
  list({
    id: 'listSessions',
    path: '/auth/sessions',
    summary: 'List the active sessions, with their devices and last use',
    source,
    extra: true,
    access: 'user',
    item: Session,
    handle: ({ page }, { sessions, principal }) => sessions.list(principal.mvUid, principal.sessionId, page),
  }),
  operation({
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
    source,
    extra: true,
    access: 'user',
    reply: [204],
    handle: async ({ params }, { sessions, principal, expected }) => {
      // A session has no versions, so that a condition on one cannot be met.
      if (Array.isArray(expected)) throw new ServiceError('PreconditionFailed')
      if (!(await sessions.end(principal.mvUid, params.sid))) throw new ServiceError('NotFound')
    },
  }),
]
