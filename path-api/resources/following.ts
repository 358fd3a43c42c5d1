import type { Static } from '@sinclair/typebox'
import type { Followed } from '../../records/live/followings.ts'
import type { Happening } from '../../records/live/happenings.ts'
import type { Caller } from '../../records/store/documents/caller.ts'
import { RecordChanged, TopicChanged } from '../../schemas/live.ts'
import { answer } from '../answer/answer.ts'
import { EventStream, Events } from '../answer/event-stream.ts'
import type { Context } from '../operation/context.ts'
import { operation } from '../operation/operation.ts'
import { messageOf, ofTopic, placeIn } from './chat.ts'

const source = 'Operations of our own: changes as they happen'

const description = (what: string) =>
  `Server-Sent Events: \`change\` for each ${what}, in one order for everybody. The id of an event, sent back as \`Last-Event-ID\`, lets the stream go on behind it, for an hour; when that is not possible any more, the first event is \`reset\`: read the lists again. The stream ends with the token, the session, or the access to what is followed; a client that does not keep up is disconnected, and can go on. Comments show that it lives.`

/** Follows changes, and sends what is made of each. */
async function follow(
  { caller, principal, lastEventId, changes }: Context<'user'>,
  followed: Followed,
  dataOf: (happening: Happening, caller: Caller) => object | Promise<object>,
) {
  const events = new Events()
  const { sessionId: sid, validUntil: until } = principal
  const leave = await changes.follow({ caller, sid, until, from: lastEventId }, followed, {
    happened: async (happening, caller) =>
      events.event('change', await dataOf(happening, caller), happening.position),
    reached: (position) => events.sign(position),
    reset: () => events.event('reset', {}),
    over: () => events.over(),
  })
  events.once('close', leave)
  return answer(events, { headers: { 'x-accel-buffering': 'no' } })
}

const changed = ({ collection, id, action, version, at }: Happening) => ({
  ...{ id, type: collection, operation: action, version },
  at: at.toISOString(),
})

export const changes = [
  operation({
    id: 'followEhr',
    method: 'get',
    path: '/ehr/{ehrId}/changes',
    summary: 'Follow the changes of an EHR’s data',
    description: description('change of what the caller may see'),
    source,
    extra: true,
    access: 'ehr:read',
    resumes: true,
    reply: [200, new EventStream(RecordChanged)],
    errors: ['TooManyRequests'],
    handle: async ({ params: { ehrId } }, context) => {
      const { caller, ehrs, addressOf } = context
      await ehrs.get(caller, ehrId)
      const followed: Followed = {
        concerns: (change) => change.ehrId === ehrId,
        isReachable: (caller) => ehrs.isReadable(caller, ehrId),
      }
      return follow(context, followed, (happening): Static<typeof RecordChanged> => {
        const { collection, id, before, after } = happening
        const resource = { ...(after ?? before), id, ehrId }
        const { carePlanId = collection === 'CarePlan' ? id : null } = resource as { carePlanId?: string }
        const href = (after && happening.action !== 'delete' && addressOf(collection, resource)) || null
        return { ...changed(happening), carePlanId, href }
      })
    },
  }),
  operation({
    id: 'followTopic',
    method: 'get',
    path: '/chat/{type}/{id}/{topicId}/changes',
    params: ofTopic,
    summary: 'Follow what is written in a topic',
    description: description('message that is written, changed or deleted, and when the topic is closed'),
    source,
    extra: true,
    access: 'chat',
    resumes: true,
    reply: [200, new EventStream(TopicChanged)],
    errors: ['TooManyRequests'],
    handle: async ({ params }, context) => {
      const { caller, chats, addressOf } = context
      const { topicId } = params
      const place = placeIn(params)
      const followed: Followed = await chats.followed(caller, place, topicId)
      return follow(context, followed, async (happening, caller): Promise<Static<typeof TopicChanged>> => {
        const said = await chats.messageHeard(caller, place, happening)
        return {
          ...changed(happening),
          message: said ? messageOf(said.message, said.names, addressOf) : null,
        }
      })
    },
  }),
]
