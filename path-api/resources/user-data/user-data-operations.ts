import { Type } from '@sinclair/typebox'
import { classKinds } from '../../../records/kinds.ts'
import { mapInSlices, TimeSlice } from '../../../records/limits/time-slice.ts'
import type { BatchItem, BatchItemOutcome } from '../../../records/measurements/measurement-batches.ts'
import { createSequentialIdGenerator } from '../../../records/store/documents/ids.ts'
import { Occurrence } from '../../../records/user-data/occurrence.ts'
import { Measurement } from '../../../records/user-data/typed-measurement.ts'
import type { OutcomeInEhr } from '../../../records/user-data/user-data.ts'
import { idField } from '../../../schemas/common.ts'
import { BatchOutcome } from '../../../schemas/measurements/measurement-batch.ts'
import { typeNameField } from '../../../schemas/types/data-types.ts'
import {
  Aggregate,
  MeasurementsBody,
  TimeSpanEnum,
  UserOccurrence,
} from '../../../schemas/user-data/user-data.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { defineListOperation, mapPage } from '../../operation/list-operation.ts'
import { defineOperation } from '../../operation/operation.ts'
import { createRepresent, defineRecordOperations } from '../../operation/record-operations.ts'
import { replyWith } from '../../reply/reply.ts'
import { refuseItem, summarizeOutcomes, toItemOutcome } from '../measurements/measurement-batch.ts'

const userDataSource = 'Endpoints, Data'
const MEASUREMENTS_PATH = '/ehr/{ehrId}/measurement'
const OCCURRENCES_PATH = '/ehr/{ehrId}/occurrence'
const EXTRA_OPERATIONS = ['list', 'add', 'get', 'replace', 'delete'] as const

const timeParameter = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }))

const rangeParameters = {
  from: timeParameter('Start of the period'),
  to: timeParameter('End of the period (exclusive)'),
  carePlanId: Type.Optional(idField('the care plan in which the records are registered')),
}

const toMeasurement = createRepresent(Measurement, MEASUREMENTS_PATH)
const toOccurrence = createRepresent(Occurrence, OCCURRENCES_PATH)
const validateMeasurement = createValidator(Measurement.body)

const listMeasurementsOperation = defineListOperation({
  id: 'listUserMeasurements',
  path: '/data/{mvUid}/measurement',
  summary: 'List the measurements of a user',
  description:
    'Returns the measurements that the caller may see, newest first. With `aggregate` it returns the numeric values of a ' +
    '`dataType` per local day, week (from Monday) or month. The time zone is `timeZone`, otherwise that of the user’s ' +
    'profile, otherwise UTC.',
  source: userDataSource,
  access: 'user-data',
  query: {
    ...rangeParameters,
    dataType: Type.Optional(typeNameField('the data type', 'steps')),
    device: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Serial number of the measuring device' }),
    ),
    aggregate: Type.Optional(TimeSpanEnum),
    timeZone: Type.Optional(
      Type.String({
        format: 'time-zone',
        sentence: 'must be a time zone of the IANA database, such as Europe/Amsterdam',
        description: 'Time zone of the days, weeks and months; only with `aggregate`',
        examples: ['Europe/Amsterdam'],
      }),
    ),
  },
  order: 'desc',
  queryRules: aggregationViolations,
  item: Type.Union([Measurement.resource, Aggregate], {
    description: 'A measurement; with `aggregate` the aggregated values of a day, week or month',
  }),
  handle: async ({ params: { mvUid }, query, page }, context) => {
    const { caller, userData, aggregates, profiles } = context
    const { aggregate: span, dataType, timeZone, ...rest } = query
    if (span === undefined || dataType === undefined) {
      const measurements = await userData.list(
        caller,
        mvUid,
        'measurements',
        { ...rest, type: dataType },
        page,
      )
      return mapPage(measurements, toMeasurement) as never
    }
    const zone = timeZone ?? (await profiles.persons.findTimeZone(mvUid)) ?? 'UTC'
    return aggregates.read(caller, mvUid, { ...rest, dataType, span, timeZone: zone }, page)
  },
})

/** Violations of the rules for `aggregate`: unsupported filters, and missing parameters. */
function aggregationViolations({
  aggregate,
  dataType,
  device,
  timeZone,
}: Record<string, unknown>): Violation[] {
  if (aggregate === undefined)
    return timeZone === undefined
      ? []
      : [{ path: 'timeZone', code: 'aggregate', message: 'can be used together with aggregate only' }]
  return [
    ...(dataType === undefined
      ? [{ path: 'dataType', code: 'required', message: 'is required together with aggregate' }]
      : []),
    ...(device === undefined
      ? []
      : [{ path: 'device', code: 'aggregate', message: 'cannot be used together with aggregate' }]),
  ]
}

const addMeasurementsOperation = defineOperation({
  id: 'addUserMeasurements',
  method: 'post',
  path: '/data/{mvUid}/measurement',
  summary: 'Create measurements of a user',
  description:
    'Stores one measurement or an array of up to 1,000. Each item of an array has its own result: stored, known (the same ' +
    'device, type, time and value were stored before) or refused. A single measurement gets a 201 if it is stored, a 200 ' +
    'if it is known, and an ordinary error if it is refused. ' +
    'An EHR accepts `perDay` measurements of a type per day; further ones get a 429. Send aggregates instead.',
  source: userDataSource,
  access: 'user-data',
  body: MeasurementsBody,
  limits: { bytes: 4 * 1024 * 1024, values: 100_000 },
  reply: [200, BatchOutcome],
  creates: true,
  errors: ['Forbidden', 'RuleViolated', 'TooManyRequests'],
  handle: async ({ params: { mvUid }, body }, { caller, userData, newId }) => {
    const nextId = createSequentialIdGenerator(newId)
    const read = await mapInSlices(
      [body].flat(),
      (item) => readMeasurement(item, nextId()),
      new TimeSlice({ admission: caller.admission }),
    )
    const validItems = read.flatMap((one) => ('body' in one ? [one] : []))
    const storedOutcomes = (await userData.store(caller, mvUid, validItems)).values()
    const outcomes = read.map((one) => ('body' in one ? (storedOutcomes.next().value as OutcomeInEhr) : one))
    if (!Array.isArray(body) && outcomes[0]?.status === 'refused') throw outcomes[0].error
    const items = outcomes.map((outcome, index) =>
      toItemOutcome(
        outcome,
        index,
        'body',
        (one) => `/ehr/${(outcome as OutcomeInEhr).ehrId}/measurement/${one}`,
      ),
    )
    const [first] = items
    const location = !Array.isArray(body) && first?.status === 'stored' ? first.href : null
    return replyWith(summarizeOutcomes(items), location === null ? {} : { created: true, location })
  },
})

function readMeasurement(body: unknown, id: string): BatchItem | BatchItemOutcome {
  const violations = validateMeasurement(body)
  return violations.length > 0
    ? refuseItem(violations)
    : { kind: Measurement as never, body: body as object, id }
}

const eventTypeParameter = typeNameField('the event type', 'fall')

const occurrenceOperations = [
  defineListOperation({
    id: 'listUserOccurrences',
    path: '/data/{mvUid}/event/{eventId}',
    params: { eventId: eventTypeParameter },
    summary: 'List the occurrences of an event type of a user',
    description: 'Returns the records that the caller may see, newest first.',
    source: userDataSource,
    access: 'user-data',
    query: rangeParameters,
    order: 'desc',
    item: Occurrence.resource,
    handle: async ({ params: { mvUid, eventId }, query, page }, { caller, userData }) => {
      const occurrences = await userData.list(caller, mvUid, 'occurrences', { ...query, type: eventId }, page)
      return mapPage(occurrences, toOccurrence) as never
    },
  }),
  defineOperation({
    id: 'addUserOccurrence',
    method: 'post',
    path: '/data/{mvUid}/event/{eventId}',
    params: { eventId: eventTypeParameter },
    summary: 'Create an occurrence of an event type',
    source: userDataSource,
    access: 'user-data',
    body: UserOccurrence,
    reply: [201, Occurrence.resource, 'versioned'],
    errors: ['Forbidden', 'RuleViolated', 'TooManyRequests', 'Conflict'],
    handle: async ({ params: { mvUid, eventId }, body }, { caller, userData, newId }) => {
      const newOccurrence = { ...body, eventType: eventId }
      const storedOccurrence = await userData.addOccurrence(caller, mvUid, newOccurrence, newId())
      const occurrence = toOccurrence(storedOccurrence) as never
      return replyWith(occurrence, {
        version: storedOccurrence.version,
        location: `/ehr/${storedOccurrence.ehrId}/occurrence/${storedOccurrence.id}`,
      })
    },
  }),
]

export const userDataOperations = [
  listMeasurementsOperation,
  addMeasurementsOperation,
  ...occurrenceOperations,
  ...defineRecordOperations(Measurement, MEASUREMENTS_PATH, {
    source: userDataSource,
    parameter: 'measurementId',
    extra: EXTRA_OPERATIONS,
  }),
  ...defineRecordOperations(Occurrence, OCCURRENCES_PATH, {
    source: userDataSource,
    parameter: 'occurrenceId',
    extra: EXTRA_OPERATIONS,
  }),
  // Clients write them in the class family, which has no way to restore them.
  ...defineRecordOperations(classKinds.Custom, '/ehr/{ehrId}/custom', {
    source: 'Class Custom',
    parameter: 'customId',
    extra: ['get'],
    without: ['list', 'add', 'replace', 'delete'],
  }),
]
