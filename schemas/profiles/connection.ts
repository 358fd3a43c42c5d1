import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'
import { ConnectionStateEnum } from '../enums.ts'

const otherUserIdField = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'User id of the other user',
  examples: ['bW81kPzQ7e'],
})

export const Connection = closedObject('Connection', 'A connection of the user with another user', {
  mvUid: otherUserIdField,
  state: ConnectionStateEnum,
  since: Type.String({ format: 'date-time', description: 'Time at which this state began' }),
})
export type Connection = Static<typeof Connection>

export const ConnectionCreate = closedObject('ConnectionCreate', 'User to connect with', {
  mvUid: otherUserIdField,
})
