import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'
import { nullable } from './nullable.ts'

const fault = (description: string) =>
  Type.Object(
    {
      path: Type.String({ description: 'Where', examples: ['body.items.1.systolic'] }),
      code: Type.String({ description: 'What, for programs', examples: ['range'] }),
      message: Type.String({ description: 'What, in a sentence' }),
    },
    { additionalProperties: false, description },
  )

/** Anything: what is wrong with one item, even that it is no object, is its own affair. */
const item = Type.Unknown({
  description:
    'An object: its `kind`, as in the path of the kind’s own operations, and the properties of the body with which it is stored alone',
})

/** What stores measurements of any kinds at once. Each item is judged for itself. */
export const MeasurementBatch = closed('MeasurementBatch', 'Measurements of any kinds', {
  items: Type.Array(item, {
    minItems: 1,
    maxItems: 1000,
    description: 'The measurements',
    examples: [
      [
        {
          ...{ kind: 'heartrate', carePlanId: 'p0LmNb72Qw', timestamp: '2026-03-01T08:30:00Z' },
          ...{ heartRate: 72, heartRateUnit: '/min' },
        },
      ],
    ],
  }),
})

const STATUSES = ['stored', 'known', 'refused'] as const

const outcome = Type.Object(
  {
    index: Type.Integer({ description: 'Which item of the request', examples: [0] }),
    status: Type.Unsafe<(typeof STATUSES)[number]>({
      type: 'string',
      enum: STATUSES,
      description: 'known: the same one, of the same device and time, was stored before',
    }),
    id: nullable(Type.String({ description: 'Of the record', examples: ['m4RtYu78Io'] })),
    href: nullable(
      Type.String({ description: 'Its path', examples: ['/ehr/e5RtGb81Xz/procedure/heartrate/m4RtYu78Io'] }),
    ),
    warnings: Type.Array(fault('What is unusual about it'), {
      description: 'What is unusual',
      examples: [[]],
    }),
    code: nullable(
      Type.String({ description: 'Why it was refused, as a problem’s code', examples: ['rule-violated'] }),
    ),
    errors: Type.Array(fault('What is wrong with it'), { description: 'All that is wrong', examples: [[]] }),
  },
  { additionalProperties: false, description: 'The result of an item' },
)

const count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

export const BatchOutcome = closed('BatchOutcome', 'The results of a batch', {
  items: Type.Array(outcome, { description: 'In the order of the request' }),
  stored: count('How many were stored', 1),
  known: count('How many had been stored before', 0),
  refused: count('How many were refused', 0),
})
export type BatchOutcome = Static<typeof BatchOutcome>
