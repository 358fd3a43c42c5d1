import { type Static, Type } from '@sinclair/typebox'
import { closedObject, pathField } from '../common.ts'
import { nullable } from '../forms/nullable.ts'
import { violationSchema } from '../validation/violation-schema.ts'

const warningField = Type.Object(
  {
    path: Type.String({ description: 'Path of the property', examples: ['systolic'] }),
    code: Type.String({ description: 'Code for programs', examples: ['unusual'] }),
    message: Type.String({ description: 'Explanation in a sentence' }),
  },
  { additionalProperties: false, description: 'An unusual value' },
)

/** Accepts any value: an invalid item, even one that is not an object, fails alone. */
const batchItemField = Type.Unknown({
  description:
    'Measurement: its `kind`, as in the paths of that kind, and the properties of the body for storing a single one',
})

/** Body for storing measurements of several kinds; each item is validated separately. */
export const MeasurementBatch = closedObject('MeasurementBatch', 'Measurements of several kinds', {
  items: Type.Array(batchItemField, {
    minItems: 1,
    maxItems: 1000,
    description: 'Measurements to store',
    examples: [
      [
        {
          kind: 'heartrate',
          carePlanId: 'p0LmNb72Qw',
          timestamp: '2026-03-01T08:30:00Z',
          heartRate: 72,
          heartRateUnit: '/min',
        },
      ],
    ],
  }),
})

const OUTCOME_STATUSES = ['stored', 'known', 'refused'] as const

const itemOutcomeField = Type.Object(
  {
    index: Type.Integer({ description: 'Index of the item in the request', examples: [0] }),
    status: Type.Unsafe<(typeof OUTCOME_STATUSES)[number]>({
      type: 'string',
      enum: OUTCOME_STATUSES,
      description: 'Status. known: the same measurement (device, time, values) was stored before',
    }),
    id: nullable(Type.String({ description: 'Id of the record', examples: ['m4RtYu78Io'] })),
    href: nullable(pathField('Path of the record', '/ehr/e5RtGb81Xz/procedure/heartrate/m4RtYu78Io')),
    warnings: Type.Array(warningField, {
      description: 'Warnings about unusual values',
      examples: [[]],
    }),
    code: nullable(Type.String({ description: 'Problem code of the refusal', examples: ['rule-violated'] })),
    errors: Type.Array(violationSchema, {
      description: 'All violations',
      examples: [[]],
    }),
  },
  { additionalProperties: false, description: 'Result of an item' },
)

const countField = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

export const BatchOutcome = closedObject('BatchOutcome', 'Results of a batch', {
  items: Type.Array(itemOutcomeField, { description: 'Results in the order of the request' }),
  stored: countField('Number of stored measurements', 1),
  known: countField('Number of measurements that were stored before', 0),
  refused: countField('Number of refused measurements', 0),
})
export type BatchOutcome = Static<typeof BatchOutcome>
