import { Type } from '@sinclair/typebox'
import type { Outcome, Sent } from '../../records/measurements/batches.ts'
import { idsTogether } from '../../records/store/documents/ids.ts'
import type { StoredOutcome } from '../../records/user-data/data-of-users.ts'
import { Occurrence } from '../../records/user-data/occurrence.ts'
import { Measurement } from '../../records/user-data/typed-measurement.ts'
import { id } from '../../schemas/common.ts'
import { typeName } from '../../schemas/data-types.ts'
import { BatchOutcome } from '../../schemas/measurement-batch.ts'
import { checkOf } from '../../schemas/registry.ts'
import { Aggregate, MeasurementsBody, SpanEnum, UserOccurrence } from '../../schemas/user-data.ts'
import type { Violation } from '../../schemas/violation.ts'
import { answer } from '../answer/answer.ts'
import { list, pageAs } from '../operation/list.ts'
import { operation } from '../operation/operation.ts'
import { registered, represented } from '../operation/registered.ts'
import { invalid, outcomeOf, summary } from './measurement-batch.ts'

const source = 'Endpoints, Data'
const MEASUREMENTS = '/ehr/{ehrId}/measurement'
const OCCURRENCES = '/ehr/{ehrId}/occurrence'
const plain = ['list', 'add', 'get', 'replace', 'delete'] as const

const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))

const range = {
  from: time('Only those of this time or later'),
  to: time('Only those of before this time'),
  carePlanId: Type.Optional(id('the care plan that they are registered in')),
}

const measurementOf = represented(Measurement, MEASUREMENTS)
const occurrenceOf = represented(Occurrence, OCCURRENCES)
const checkMeasurement = checkOf(Measurement.body)

const listMeasurements = list({
  id: 'listUserMeasurements',
  path: '/data/{mvUid}/measurement',
  summary: 'List the measurements of a user',
  description:
    'Those that the caller may see, newest first. With `aggregate` the numeric values of a `dataType` by day, week (from ' +
    'Monday) or month of local time: by `timeZone`, else by that of the user’s profile, else UTC.',
  source,
  access: 'user-data',
  query: {
    ...range,
    dataType: Type.Optional(typeName('the data type', 'steps')),
    device: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Serial number of the device that measured' }),
    ),
    aggregate: Type.Optional(SpanEnum),
    timeZone: Type.Optional(
      Type.String({
        format: 'time-zone',
        sentence: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
        description: 'By whose days values are summed up; only with `aggregate`',
        examples: ['Europe/Amsterdam'],
      }),
    ),
  },
  order: 'desc',
  queryRules: misfits,
  item: Type.Union([Measurement.resource, Aggregate], {
    description: 'A measurement; with `aggregate` the values of a day, week or month',
  }),
  handle: async ({ params: { mvUid }, query, page }, context) => {
    const { caller, userData, aggregates, profiles } = context
    const { aggregate: span, dataType, timeZone, ...rest } = query
    if (span === undefined || dataType === undefined) {
      const found = await userData.list(caller, mvUid, 'measurements', { ...rest, type: dataType }, page)
      return pageAs(found, measurementOf) as never
    }
    const zone = timeZone ?? (await profiles.persons.timeZoneOf(mvUid)) ?? 'UTC'
    return aggregates.read(caller, mvUid, { ...rest, dataType, span, timeZone: zone }, page)
  },
})

/** What sums cannot be narrowed by, or lists cannot do without. */
function misfits({ aggregate, dataType, device, timeZone }: Record<string, unknown>): Violation[] {
  if (aggregate === undefined)
    return timeZone === undefined
      ? []
      : [{ path: 'timeZone', code: 'aggregate', message: 'is for sums: `aggregate`' }]
  return [
    ...(dataType === undefined
      ? [{ path: 'dataType', code: 'required', message: 'is required with `aggregate`' }]
      : []),
    ...(device === undefined ? [] : [{ path: 'device', code: 'aggregate', message: 'is not for sums' }]),
  ]
}

const addMeasurements = operation({
  id: 'addUserMeasurements',
  method: 'post',
  path: '/data/{mvUid}/measurement',
  summary: 'Store measurements of a user',
  description:
    'One, or an array of up to 1,000, each of which has a result of its own: stored, known (the same device, type, time and ' +
    'value were stored before) or refused. One alone that is refused is answered as any other request is. An EHR takes only ' +
    'so many of a type a day (`perDay`): what is more is refused with 429; send aggregates.',
  source,
  access: 'user-data',
  body: MeasurementsBody,
  limits: { bytes: 4 * 1024 * 1024, values: 100_000 },
  reply: [200, BatchOutcome],
  errors: ['Forbidden', 'RuleViolated', 'TooManyRequests'],
  handle: async ({ params: { mvUid }, body }, { caller, userData, newId }) => {
    const nextId = idsTogether(newId)
    const read = [body].flat().map((item) => readItem(item, nextId()))
    const sent = read.flatMap((one) => ('body' in one ? [one] : []))
    const stored = (await userData.store(caller, mvUid, sent)).values()
    const outcomes = read.map((one) => ('body' in one ? (stored.next().value as StoredOutcome) : one))
    if (!Array.isArray(body) && outcomes[0]?.status === 'refused') throw outcomes[0].error
    return summary(
      outcomes.map((outcome, index) =>
        outcomeOf(
          outcome,
          index,
          'body',
          (one) => `/ehr/${(outcome as StoredOutcome).ehrId}/measurement/${one}`,
        ),
      ),
    )
  },
})

function readItem(body: unknown, id: string): Sent | Outcome {
  const violations = checkMeasurement(body)
  return violations.length > 0
    ? invalid(violations)
    : { kind: Measurement as never, body: body as object, id }
}

const eventId = typeName('the event type', 'fall')

const occurrences = [
  list({
    id: 'listUserOccurrences',
    path: '/data/{mvUid}/event/{eventId}',
    params: { eventId },
    summary: 'List the occurrences of an event type in the life of a user',
    description: 'Those that the caller may see, newest first.',
    source,
    access: 'user-data',
    query: range,
    order: 'desc',
    item: Occurrence.resource,
    handle: async ({ params: { mvUid, eventId }, query, page }, { caller, userData }) => {
      const found = await userData.list(caller, mvUid, 'occurrences', { ...query, type: eventId }, page)
      return pageAs(found, occurrenceOf) as never
    },
  }),
  operation({
    id: 'addUserOccurrence',
    method: 'post',
    path: '/data/{mvUid}/event/{eventId}',
    params: { eventId },
    summary: 'Store an occurrence of an event type',
    source,
    access: 'user-data',
    body: UserOccurrence,
    reply: [201, Occurrence.resource, 'versioned'],
    errors: ['Forbidden', 'RuleViolated', 'TooManyRequests', 'Conflict'],
    handle: async ({ params: { mvUid, eventId }, body }, { caller, userData, newId }) => {
      const sent = { ...body, eventType: eventId }
      const stored = await userData.addOccurrence(caller, mvUid, sent, newId())
      const occurrence = occurrenceOf(stored) as never
      return answer(occurrence, {
        version: stored.version,
        location: `/ehr/${stored.ehrId}/occurrence/${stored.id}`,
      })
    },
  }),
]

export const userData = [
  listMeasurements,
  addMeasurements,
  ...occurrences,
  ...registered(Measurement, MEASUREMENTS, { source, parameter: 'measurementId', extra: plain }),
  ...registered(Occurrence, OCCURRENCES, { source, parameter: 'occurrenceId', extra: plain }),
]
