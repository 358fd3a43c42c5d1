import { type Static, Type } from '@sinclair/typebox'
import { closedObject } from '../common.ts'

const acqAnswerField = Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, maximum: 6 })

export const AcqParams = closedObject(
  'AcqParams',
  'Parameters of the function acq (Asthma Control Questionnaire)',
  {
    version: Type.Unsafe<5 | 6 | 7>({
      type: 'integer',
      enum: [5, 6, 7],
      description: 'Version of the questionnaire: its number of items',
    }),
    answers: Type.Array(acqAnswerField, {
      maxItems: 7,
      description: 'Answers to items 1 to 5, 6 or 7 in order, each 0 to 6; null for a missing answer',
    }),
    relieverPuffs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 200,
        description: 'Number of reliever puffs in 24 hours; the answer to item 6',
      }),
    ),
    fev1PercentPredicted: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 250,
        description: 'FEV1 as % of predicted; the answer to item 7',
      }),
    ),
    age: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 150,
        description: 'Age in years, if known; other limits apply from 6 to 17',
      }),
    ),
  },
)
export type AcqParams = Static<typeof AcqParams>

const CONTROL_LEVELS = ['well-controlled', 'borderline', 'not-well-controlled', null] as const

export const AcqResult = closedObject('AcqResult', 'Scores of an Asthma Control Questionnaire', {
  score: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'Unweighted mean of the answers, 0 to 6, with 2 decimals; null when an answer is missing',
    examples: [1.17],
  }),
  sum: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'Sum of the answers; null when an answer is missing',
    examples: [7],
  }),
  answered: Type.Integer({ description: 'Number of answered items', examples: [6] }),
  control: Type.Unsafe<(typeof CONTROL_LEVELS)[number]>({
    enum: [...CONTROL_LEVELS],
    description: 'Level of control, from the unrounded mean; null when an answer is missing',
    examples: ['borderline'],
  }),
})
export type AcqResult = Static<typeof AcqResult>
