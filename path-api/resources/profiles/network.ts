import { Connection, ConnectionCreate } from '../../../schemas/profiles/connection.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { replyWith } from '../../reply/reply.ts'

const networkDefaults = { source: 'Endpoints, Profile (persons)', access: 'person' } as const

const networkPath = '/profile/{mvUid}/network'
const connectionPath = '/profile/{mvUid}/network/{connectionMvUid}'

const toConnection = (connection: {
  other: string
  state: Connection['state']
  updatedAt: string
}): Connection => ({
  mvUid: connection.other,
  state: connection.state,
  since: connection.updatedAt,
})

export const networkOperations = [
  defineListOperation({
    ...networkDefaults,
    id: 'listConnections',
    path: networkPath,
    summary: 'List the connections of a person, and the requests for connections',
    item: Connection,
    handle: async ({ params: { mvUid }, page }, { caller, profiles }) =>
      mapPage(await profiles.connections.list(caller, mvUid, page), toConnection),
  }),
  defineOperation({
    ...networkDefaults,
    id: 'addConnection',
    method: 'post',
    path: networkPath,
    summary: 'Request a connection with another user, or accept their request',
    description:
      'The users are connected when the other user does the same. Connected users can read each other’s name, picture and contacts.',
    body: ConnectionCreate,
    reply: [201, Connection, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => {
      const connection = await profiles.connections.request(caller, mvUid, body.mvUid)
      return replyWith(toConnection(connection), {
        version: connection.version,
        location: `/profile/${mvUid}/network/${body.mvUid}`,
      })
    },
  }),
  defineOperation({
    ...networkDefaults,
    id: 'getConnection',
    method: 'get',
    path: connectionPath,
    summary: 'Get a connection',
    reply: [200, Connection, 'versioned'],
    handle: async ({ params: { mvUid, connectionMvUid } }, { caller, profiles }) => {
      const connection = await profiles.connections.get(caller, mvUid, connectionMvUid)
      return replyWith(toConnection(connection), { version: connection.version })
    },
  }),
  defineOperation({
    ...networkDefaults,
    id: 'removeConnection',
    method: 'delete',
    path: connectionPath,
    summary: 'End a connection, or a request for one, for both sides',
    reply: [204],
    handle: ({ params: { mvUid, connectionMvUid } }, { caller, profiles, ifMatch }) =>
      profiles.connections.end(caller, mvUid, connectionMvUid, ifMatch),
  }),
]
