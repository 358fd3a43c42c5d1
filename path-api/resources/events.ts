import { Type } from '@sinclair/typebox'
import { Event } from '../../records/events/event.ts'
import type { StoredEvent } from '../../records/events/events.ts'
import { id } from '../../schemas/common.ts'
import type { EventResource } from '../../schemas/event.ts'
import { fieldsOf } from '../answer/representation.ts'
import { list, pageAs } from '../operation/list.ts'
import { registered } from '../operation/registered.ts'

const source = 'Endpoints, Medical data; Events'

const eventOf = (stored: StoredEvent) => fieldsOf(Event.resource.properties, stored) as EventResource

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const window = {
  from: time('Events that ended before this are left out'),
  to: time('Events that begin at this moment or later are left out'),
}
const type = Type.Optional(Event.fields.type)
const carePlanId = Type.Optional(id('the care plan that they are registered in'))

const lists = [
  list({
    id: 'listEvents',
    path: '/med/{ehrId}/event',
    summary: 'List the events of an EHR',
    description: 'Those that the caller may see and that overlap the requested period, by their start.',
    source,
    access: 'ehr:read',
    query: { ...window, type, carePlanId },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) =>
      pageAs(await events.list(caller, ehrId, query, page), eventOf),
  }),
  list({
    id: 'listCarePlanEvents',
    path: '/med/{ehrId}/event/careplan/{careplanId}',
    summary: 'List the events of a care plan',
    description: 'Those that overlap the requested period, by their start.',
    source,
    access: 'plan:read',
    query: { ...window, type },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId, careplanId }, query, page }, { caller, events }) =>
      pageAs(await events.list(caller, ehrId, { ...query, carePlanId: careplanId }, page), eventOf),
  }),
  list({
    id: 'listParticipationEvents',
    path: '/med/{ehrId}/event-participation',
    summary: 'List the events in which somebody takes part',
    description: 'Those that the caller may see, by their start.',
    source,
    access: 'ehr:read',
    query: {
      ...window,
      type,
      carePlanId,
      participant: Type.Optional(id('the user who takes part; by default the caller')),
    },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) => {
      const { participant = caller.userId } = query
      return pageAs(await events.list(caller, ehrId, { ...query, participant }, page), eventOf)
    },
  }),
]

export const events = [
  ...lists,
  ...registered(Event, '/med/{ehrId}/event', {
    source,
    parameter: 'eventId',
    without: ['list'],
    descriptions: {
      add: 'Everyone who sees the care plan sees its events; an event without a plan is visible to those who see the EHR.',
    },
  }),
]
