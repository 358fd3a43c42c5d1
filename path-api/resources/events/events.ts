import { Type } from '@sinclair/typebox'
import { Event } from '../../../records/events/event.ts'
import type { StoredEvent } from '../../../records/events/events.ts'
import { idField } from '../../../schemas/common.ts'
import type { EventResource } from '../../../schemas/events/event.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineRecordOperations } from '../../operation/record-operations.ts'
import { pickClientFields } from '../../reply/client-fields.ts'

const eventsSource = 'Endpoints, Medical data; Events'

export const toEvent = (event: StoredEvent) =>
  pickClientFields(Event.resource.properties, event) as EventResource

const timeParameter = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }))

const overlapParameters = {
  from: timeParameter('Start of the period: excludes events that ended earlier'),
  to: timeParameter('End of the period: excludes events that begin then or later'),
}
const eventTypeParameter = Type.Optional(Event.fields.type)
const eventCarePlanParameter = Type.Optional(idField('the care plan in which the records are registered'))

const eventListOperations = [
  defineListOperation({
    id: 'listEvents',
    path: '/med/{ehrId}/event',
    summary: 'List the events of an EHR',
    description: 'Returns the events that the caller may see and that overlap the period, sorted by start.',
    source: eventsSource,
    access: 'ehr:read',
    query: { ...overlapParameters, type: eventTypeParameter, carePlanId: eventCarePlanParameter },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) =>
      mapPage(await events.list(caller, ehrId, query, page), toEvent),
  }),
  defineListOperation({
    id: 'listCarePlanEvents',
    path: '/med/{ehrId}/event/careplan/{careplanId}',
    summary: 'List the events of a care plan',
    description: 'Returns the events that overlap the period, sorted by start.',
    source: eventsSource,
    access: 'plan:read',
    query: { ...overlapParameters, type: eventTypeParameter },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId, careplanId }, query, page }, { caller, events }) =>
      mapPage(await events.list(caller, ehrId, { ...query, carePlanId: careplanId }, page), toEvent),
  }),
  defineListOperation({
    id: 'listParticipationEvents',
    path: '/med/{ehrId}/event-participation',
    summary: 'List the events in which a user takes part',
    description: 'Returns the events that the caller may see, sorted by start.',
    source: eventsSource,
    access: 'ehr:read',
    query: {
      ...overlapParameters,
      type: eventTypeParameter,
      carePlanId: eventCarePlanParameter,
      participant: Type.Optional(idField('the participant; default: the caller')),
    },
    item: Event.resource,
    order: 'asc',
    handle: async ({ params: { ehrId }, query, page }, { caller, events }) => {
      const { participant = caller.userId } = query
      return mapPage(await events.list(caller, ehrId, { ...query, participant }, page), toEvent)
    },
  }),
]

export const eventOperations = [
  ...eventListOperations,
  ...defineRecordOperations(Event, '/med/{ehrId}/event', {
    source: eventsSource,
    parameter: 'eventId',
    without: ['list'],
    descriptions: {
      add: 'Everyone who sees the care plan sees its events; everyone who sees the EHR sees events without a plan.',
    },
  }),
]
