import { type Static, Type } from '@sinclair/typebox'
import { closed } from './common.ts'

const answer = Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, maximum: 6 })

export const AcqParams = closed(
  'AcqParams',
  'Parameters of the function acq (Asthma Control Questionnaire)',
  {
    version: Type.Unsafe<5 | 6 | 7>({
      type: 'integer',
      enum: [5, 6, 7],
      description: 'How many items it has',
    }),
    answers: Type.Array(answer, {
      maxItems: 7,
      description: 'Items 1 to 5, 6 or 7 in order, each 0 to 6; null where there is no answer',
    }),
    relieverPuffs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 200,
        description: 'Puffs of reliever in 24 hours; answers item 6',
      }),
    ),
    fev1PercentPredicted: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 250, description: 'FEV1, % of predicted; answers item 7' }),
    ),
    age: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 150,
        description: 'Age in years, when it is known: from 6 to 17 other limits are used',
      }),
    ),
  },
)
export type AcqParams = Static<typeof AcqParams>

const control = ['well-controlled', 'borderline', 'not-well-controlled', null] as const

export const AcqResult = closed('AcqResult', 'Scores of an Asthma Control Questionnaire', {
  score: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'The unweighted mean, 0 to 6, with 2 decimals; null when an item is missing',
    examples: [1.17],
  }),
  sum: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'The sum of the answers; null when an item is missing',
    examples: [7],
  }),
  answered: Type.Integer({ description: 'How many items have an answer', examples: [6] }),
  control: Type.Unsafe<(typeof control)[number]>({
    enum: [...control],
    description: 'By the unrounded mean; null when an item is missing',
    examples: ['borderline'],
  }),
})
export type AcqResult = Static<typeof AcqResult>
