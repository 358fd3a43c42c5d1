import { Type } from '@sinclair/typebox'
import type { StoredEvent } from '../../records/events/events.ts'
import { id } from '../../schemas/common.ts'
import { Event } from '../../schemas/event.ts'
import { EventBody, EventReplacement, EventResource } from '../../schemas/event-resource.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { requireSameId } from './belongings.ts'
import { fieldsOf } from './representation.ts'

const source = 'Endpoints, Medical data; Events'

const eventOf = (stored: StoredEvent) => fieldsOf(EventResource.properties, stored) as EventResource

const answerWith = (stored: StoredEvent) => answer(eventOf(stored), { version: stored.version })

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const window = {
  from: time('Events that are over before this are left out'),
  to: time('Events that begin at this moment or later are left out'),
}
const type = Type.Optional(Event.properties.type)
const carePlanId = Type.Optional(id('the care plan that they belong to'))

const one = '/med/{ehrId}/event/{eventId}'
const keyOf = ({ ehrId, eventId }: { ehrId: string; eventId: string }) => ({ id: eventId, ehrId })

const lists = [
  list({
    id: 'listEvents',
    path: '/med/{ehrId}/event',
    summary: 'List the events of an EHR',
    description: 'Those that the caller may see and that overlap the time that is asked for, by their start.',
    source,
    access: 'ehr:read',
    query: { ...window, type, carePlanId },
    item: EventResource,
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) =>
      pageAs(await events.list(caller, ehrId, query, page), eventOf),
  }),
  list({
    id: 'listCarePlanEvents',
    path: '/med/{ehrId}/event/careplan/{careplanId}',
    summary: 'List the events of a care plan',
    description: 'Those that overlap the time that is asked for, by their start.',
    source,
    access: 'plan:read',
    query: { ...window, type },
    item: EventResource,
    handle: async ({ params: { ehrId, careplanId }, query, page }, { caller, events }) =>
      pageAs(await events.list(caller, ehrId, { ...query, carePlanId: careplanId }, page), eventOf),
  }),
  list({
    id: 'listParticipationEvents',
    path: '/med/{ehrId}/event-participation',
    summary: 'List the events in which somebody takes part',
    description: 'Of those that the caller may see; by their start.',
    source,
    access: 'ehr:read',
    query: {
      ...window,
      type,
      carePlanId,
      participant: Type.Optional(id('the user who takes part; left out, it is the caller')),
    },
    item: EventResource,
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) => {
      const { participant = caller.userId } = query
      return pageAs(await events.list(caller, ehrId, { ...query, participant }, page), eventOf)
    },
  }),
]

export const events = [
  ...lists,
  operation({
    id: 'addEvent',
    method: 'post',
    path: '/med/{ehrId}/event',
    summary: 'Add an event to an EHR, or to one of its care plans',
    description:
      'Those who see the care plan see its events; an event without one is for those who see the EHR.',
    source,
    access: 'plan:write',
    body: EventBody,
    reply: [201, EventResource, 'versioned'],
    errors: ['RuleViolated', 'Conflict'],
    handle: async ({ params: { ehrId }, body }, { caller, events, newId }) => {
      const added = await events.create(caller, ehrId, body, newId())
      return answer(eventOf(added), { version: added.version, location: `/med/${ehrId}/event/${added.id}` })
    },
  }),
  operation({
    id: 'getEvent',
    method: 'get',
    path: one,
    summary: 'Show an event',
    source,
    access: 'plan:read',
    reply: [200, EventResource, 'versioned'],
    handle: async ({ params }, { caller, events }) => answerWith(await events.get(caller, keyOf(params))),
  }),
  operation({
    id: 'updateEvent',
    method: 'put',
    path: one,
    summary: 'Replace an event; its care plan stays',
    source,
    access: 'plan:write',
    body: EventReplacement,
    reply: [200, EventResource, 'versioned'],
    errors: ['IdMismatch', 'RuleViolated'],
    handle: async ({ params, body: { id, ...body } }, { caller, events, ifMatch }) => {
      if (id !== undefined) requireSameId('id', id, params.eventId)
      return answerWith(await events.replace(caller, keyOf(params), body, { ifMatch }))
    },
  }),
  operation({
    id: 'deleteEvent',
    method: 'delete',
    path: one,
    summary: 'Delete an event',
    source,
    access: 'plan:write',
    reply: [204],
    handle: ({ params }, { caller, events, ifMatch }) => events.remove(caller, keyOf(params), { ifMatch }),
  }),
]
