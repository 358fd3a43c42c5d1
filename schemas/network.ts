import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { ConnectionStateEnum } from './enum.ts'

const mvUid = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'User id of the other side',
  examples: ['bW81kPzQ7e'],
})

export const Connection = closed('Connection', 'A connection with another user, as seen from one side', {
  mvUid,
  state: ConnectionStateEnum,
  since: Type.String({ format: 'date-time', description: 'Since when it has been in this state' }),
})
export type Connection = Static<typeof Connection>

export const ConnectionCreate = closed('ConnectionCreate', 'Whom to connect with', { mvUid })
