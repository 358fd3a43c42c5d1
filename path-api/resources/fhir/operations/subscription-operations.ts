import { Type } from '@sinclair/typebox'
import { formatPosition, parsePosition } from '../../../../records/live/change-log.ts'
import type { Caller } from '../../../../records/store/documents/caller.ts'
import type { Context } from '../../../operation/context.ts'
import { defineOperation } from '../../../operation/operation.ts'
import { EventStreamBody, EventStreamWriter } from '../../../reply/event-stream.ts'
import { replyWith } from '../../../reply/reply.ts'
import {
  FHIR_PATH,
  fhirOperation,
  replyWithBundle,
  resourceBody,
  resourceIdField,
  resourceSchema,
  resultParameters,
} from '../fhir-operation.ts'

const { _format } = resultParameters

const eventNumber = (which: string) =>
  Type.Optional(Type.String({ description: `Number of the ${which} event`, examples: ['1'] }))

const oneSubscription = {
  ...fhirOperation,
  method: 'get',
  access: 'account',
  params: { id: resourceIdField('Subscription', 'x7TgBn42Lk') },
} as const

/** Last-Event-ID has two numbers in every stream: here the second one is 0. */
const eventIdOf = (number: number): string => formatPosition({ batch: number, changes: 0 })

/** Runs `work` again and again while it is called for, never twice at once. */
function createPump(work: (caller: Caller) => Promise<void>, onFault: () => void) {
  let running = Promise.resolve()
  let isWaiting = false
  return (caller: Caller): void => {
    if (isWaiting) return
    isWaiting = true
    running = running.then(() => {
      isWaiting = false
      return work(caller)
    }, onFault)
    running.catch(onFault)
  }
}

/** Sends the events of a subscription, those that the client has missed first. */
async function streamEvents(id: string, context: Context<'account'>) {
  const { caller, principal, lastEventId = '', subscriptions, fhirNotifications } = context
  const topic = await fhirNotifications.topicOf(caller, id)
  const events = new EventStreamWriter()
  const handshake = await fhirNotifications.handshake(caller, id, parsePosition(lastEventId)?.batch ?? 0)
  let { last } = handshake
  const pump = createPump(
    async (currentCaller) => {
      while (!events.destroyed) {
        const { bundle, last: number } = await fhirNotifications.next(currentCaller, id, last)
        if (number === undefined) return
        last = number
        events.sendEvent('notification', bundle, eventIdOf(last))
        await events.waitForDrain()
      }
    },
    () => events.finish(),
  )
  events.sendEvent('notification', handshake.bundle, eventIdOf(last))
  const { sessionId: sid, validUntil: until } = principal
  const unsubscribe = await subscriptions.subscribe({ caller, sid, until }, topic, {
    onChange: (_, currentCaller) => pump(currentCaller),
    onPosition: (_, currentCaller) => {
      events.sendHeartbeat(eventIdOf(last))
      pump(currentCaller)
    },
    // The numbers of the events tell whether any is missing.
    onReset: () => {},
    onEnd: () => events.finish(),
  })
  events.once('close', unsubscribe)
  return replyWith(events, { headers: { 'x-accel-buffering': 'no' } })
}

export const fhirSubscriptionOperations = [
  defineOperation({
    ...oneSubscription,
    id: 'readFhirSubscriptionStatus',
    path: `${FHIR_PATH}/Subscription/{id}/$status`,
    query: { _format },
    summary: 'Get the state of a subscription, with the number of its events',
    reply: [200, resourceBody('Bundle')],
    handle: async ({ params: { id } }, { caller, fhirNotifications }) =>
      replyWithBundle(await fhirNotifications.status(caller, id)),
  }),
  defineOperation({
    ...oneSubscription,
    id: 'listFhirSubscriptionEvents',
    path: `${FHIR_PATH}/Subscription/{id}/$events`,
    query: {
      eventsSinceNumber: eventNumber('first'),
      eventsUntilNumber: eventNumber('last'),
      content: Type.Optional(Type.String({ description: 'Always id-only', examples: ['id-only'] })),
      _format,
    },
    summary: 'List the events of a subscription',
    description:
      'Returns at most 100 events, the oldest first. The service keeps the newest 10,000 for a week.',
    reply: [200, resourceBody('Bundle')],
    handle: async ({ params: { id }, query }, { caller, fhirNotifications }) =>
      replyWithBundle(await fhirNotifications.events(caller, id, query)),
  }),
  defineOperation({
    ...oneSubscription,
    id: 'followFhirSubscription',
    path: `${FHIR_PATH}/events/{id}`,
    summary: 'Follow the events of a subscription',
    description:
      'Sends Server-Sent Events. Each `notification` is a Bundle with the events, as `$events` returns them. The first one is a handshake, and those that the client has missed follow: all, or those after the event that `Last-Event-ID` names. The stream ends with the token, the session or the subscription.',
    resumes: true,
    reply: [200, new EventStreamBody(resourceSchema('Bundle'))],
    errors: ['TooManyRequests'],
    handle: ({ params: { id } }, context) => streamEvents(id, context),
  }),
]
