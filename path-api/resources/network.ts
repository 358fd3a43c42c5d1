import { Connection, ConnectionCreate } from '../../schemas/network.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'

const about = { source: 'Endpoints, Profile (persons)', access: 'person' } as const

const path = '/profile/{mvUid}/network'
const one = '/profile/{mvUid}/network/{connectionMvUid}'

const connectionOf = (stored: {
  other: string
  state: Connection['state']
  updatedAt: string
}): Connection => ({
  mvUid: stored.other,
  state: stored.state,
  since: stored.updatedAt,
})

export const network = [
  list({
    ...about,
    id: 'listConnections',
    path,
    summary: 'List the connections of a person, and the requests for connections',
    item: Connection,
    handle: async ({ params: { mvUid }, page }, { caller, profiles }) =>
      pageAs(await profiles.connections.list(caller, mvUid, page), connectionOf),
  }),
  operation({
    ...about,
    id: 'addConnection',
    method: 'post',
    path,
    summary: 'Request a connection with another user, or accept their request',
    description:
      'The two are connected once the other side does the same. Connections read each other’s name, picture and contacts.',
    body: ConnectionCreate,
    reply: [201, Connection, 'versioned'],
    errors: ['RuleViolated'],
    handle: async ({ params: { mvUid }, body }, { caller, profiles }) => {
      const added = await profiles.connections.ask(caller, mvUid, body.mvUid)
      return answer(connectionOf(added), {
        version: added.version,
        location: `/profile/${mvUid}/network/${body.mvUid}`,
      })
    },
  }),
  operation({
    ...about,
    id: 'getConnection',
    method: 'get',
    path: one,
    summary: 'Get a connection',
    reply: [200, Connection, 'versioned'],
    handle: async ({ params: { mvUid, connectionMvUid } }, { caller, profiles }) => {
      const found = await profiles.connections.get(caller, mvUid, connectionMvUid)
      return answer(connectionOf(found), { version: found.version })
    },
  }),
  operation({
    ...about,
    id: 'removeConnection',
    method: 'delete',
    path: one,
    summary: 'End a connection, or a request for one, for both sides',
    reply: [204],
    handle: ({ params: { mvUid, connectionMvUid } }, { caller, profiles, expected }) =>
      profiles.connections.end(caller, mvUid, connectionMvUid, expected),
  }),
]
