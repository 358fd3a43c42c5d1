import { type Static, Type } from '@sinclair/typebox'
import { isToldToParticipant } from '../../../records/care-plans/participants/participants.ts'
import type { RecordChange } from '../../../records/history/changes.ts'
import { helperActOf } from '../../../records/kinds.ts'
import type { SubscriptionTopic } from '../../../records/live/subscriptions.ts'
import { type Caller, isReadableByHelper } from '../../../records/store/documents/caller.ts'
import { RecordChangeEvent, TopicChangeEvent } from '../../../schemas/live/change-events.ts'
import type { Context } from '../../operation/context.ts'
import { defineOperation } from '../../operation/operation.ts'
import type { Services } from '../../operation/services.ts'
import { EventStreamBody, EventStreamWriter } from '../../reply/event-stream.ts'
import { replyWith } from '../../reply/reply.ts'
import { subjectFromParams, toChatMessage, topicParams } from '../chat/chat.ts'

export const changesSource = 'Operations of our own: changes as they happen'

export const describeStream = (changedRecord: string) =>
  `Sends Server-Sent Events: a \`change\` for each ${changedRecord}. All clients get them in the same order. To resume within an hour, send the id of the last event as \`Last-Event-ID\`. If the service cannot resume there, the first event is \`reset\`: read the lists again. The stream ends with the token, the session or the access of the caller. A client that reads too slowly is disconnected and can resume. Comments serve as a heartbeat.`

/** The query of a stream. */
export const streamQuery = {
  lookBack: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 60,
      description:
        'Seconds before the start: the stream begins with the changes of this time, after a quiet period also with some older ones. ' +
        'Has no effect with `Last-Event-ID`',
      examples: [5],
    }),
  ),
}

/** Paths in events begin at the root of the host, as those in replies do (response/path-prefix.ts). */
const createPrefixedRecordPath =
  ({ recordPathOf, pathPrefix }: Services): Services['recordPathOf'] =>
  (className, record) => {
    const path = recordPathOf(className, record)
    return path && pathPrefix + path
  }

/** Subscribes to changes and sends an event for each. */
export async function streamChanges(
  { caller, principal, lastEventId, subscriptions }: Context<'user'>,
  topic: SubscriptionTopic,
  { lookBack }: { lookBack?: number },
  dataOf: (change: RecordChange, caller: Caller) => object | Promise<object>,
) {
  const events = new EventStreamWriter()
  const { sessionId: sid, validUntil: until } = principal
  const unsubscribe = await subscriptions.subscribe(
    { caller, sid, until, from: lastEventId, lookBack },
    topic,
    {
      onChange: async (change, caller) =>
        events.sendEvent('change', await dataOf(change, caller), change.position),
      onPosition: (position) => events.sendHeartbeat(position),
      onReset: () => events.sendEvent('reset', {}),
      onEnd: () => events.finish(),
    },
  )
  events.once('close', unsubscribe)
  return replyWith(events, { headers: { 'x-accel-buffering': 'no' } })
}

export const toChangeEvent = (change: RecordChange) => ({
  id: change.id,
  type: change.collection,
  operation: change.action,
  version: change.version,
  userId: change.userId,
  onBehalfOf: change.onBehalfOf ?? null,
  at: change.at.toISOString(),
})

export const changeStreamOperations = [
  defineOperation({
    id: 'followEhr',
    method: 'get',
    path: '/ehr/{ehrId}/changes',
    summary: 'Follow the changes of an EHR’s data',
    description: describeStream('change of data that the caller may read'),
    source: changesSource,
    extra: true,
    access: 'ehr:read',
    query: streamQuery,
    resumes: true,
    reply: [200, new EventStreamBody(RecordChangeEvent)],
    errors: ['TooManyRequests'],
    handle: async ({ params: { ehrId }, query }, context) => {
      const { caller, ehrs } = context
      const recordPathOf = createPrefixedRecordPath(context)
      await ehrs.get(caller, ehrId)
      const topic: SubscriptionTopic = {
        concerns: (change) => change.ehrId === ehrId,
        includes: ({ collection }, caller) => isReadableByHelper(caller, helperActOf(collection)),
        isTold: isToldToParticipant,
        isReachable: (caller) => ehrs.isReadable(caller, ehrId),
      }
      return streamChanges(context, topic, query, (change): Static<typeof RecordChangeEvent> => {
        const { collection, id, before, after } = change
        const resource = { ...(after ?? before), id, ehrId }
        const { carePlanId = collection === 'CarePlan' ? id : null } = resource as { carePlanId?: string }
        const href = (after && change.action !== 'delete' && recordPathOf(collection, resource)) || null
        return { ...toChangeEvent(change), carePlanId, href }
      })
    },
  }),
  defineOperation({
    id: 'followTopic',
    method: 'get',
    path: '/chat/{type}/{id}/{topicId}/changes',
    params: topicParams,
    summary: 'Follow the messages of a topic',
    description: describeStream('message that is written, changed or deleted, and when the topic is closed'),
    source: changesSource,
    extra: true,
    access: 'chat',
    query: streamQuery,
    resumes: true,
    reply: [200, new EventStreamBody(TopicChangeEvent)],
    errors: ['TooManyRequests'],
    handle: async ({ params, query }, context) => {
      const { caller, chats } = context
      const recordPathOf = createPrefixedRecordPath(context)
      const { topicId } = params
      const subjectKey = subjectFromParams(params)
      const topic: SubscriptionTopic = await chats.subscriptionTopicOf(caller, subjectKey, topicId)
      return streamChanges(
        context,
        topic,
        query,
        async (change, caller): Promise<Static<typeof TopicChangeEvent>> => {
          const messageWithNames = await chats.messageOfChange(caller, subjectKey, change)
          return {
            ...toChangeEvent(change),
            message: messageWithNames
              ? toChatMessage(messageWithNames.message, messageWithNames.names, recordPathOf)
              : null,
          }
        },
      )
    },
  }),
]
