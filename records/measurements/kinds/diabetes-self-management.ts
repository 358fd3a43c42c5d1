import { Type } from '@sinclair/typebox'
import { derived } from '../../../schemas/forms/fields.ts'
import { nullable } from '../../../schemas/nullable.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { dsmq, SCALES } from '../calculations/scores/dsmq.ts'
import { measurement } from '../measurement.ts'
import type { Series } from '../series.ts'

const ITEMS = SCALES.SS.length

const answers = Type.Array(Type.Unsafe<number | 'NR' | null>({ enum: [0, 1, 2, 3, 'NR', null] }), {
  minItems: ITEMS,
  maxItems: ITEMS,
  description:
    'Items 1 to 16, each 0 to 3; NR where the treatment does not require it, null where there is no answer',
  examples: [[3, 2, 3, 'NR', 1, 'NR', 0, 1, 2, 1, 2, 1, 1, 0, 2, 1]],
})

const areAnswers = checkOf(answers)

const scale = (description: string) =>
  nullable(
    Type.Object(
      {
        raw: Type.Integer({
          description: 'Sum of its answers, reversed where a high answer is unfavourable',
          examples: [7],
        }),
        max: Type.Integer({
          description: 'The highest sum that is possible with as many answers',
          examples: [9],
        }),
        score: Type.Number({ description: '0 to 10; higher is better', examples: [7.78] }),
        answered: Type.Integer({ description: 'How many of its items have an answer', examples: [3] }),
      },
      { additionalProperties: false, description: `${description}; null when more than half is missing` },
    ),
  )

const series = (label: string, scale: string): Series => ({
  ...{ label, field: `scales.${scale}.score`, unit: '{score}', axis: 'dsmq', range: [0, 10] },
})

export const Dsmq = measurement({
  name: 'Dsmq',
  path: 'dsmq',
  specified: ['add'],
  noun: 'diabetes self-management questionnaire',
  description: 'A Diabetes Self-Management Questionnaire (DSMQ), about the past eight weeks',
  words: { en: 'questionnaire about diabetes self care', nl: 'vragenlijst over zelfzorg bij diabetes' },
  group: 'questionnaires',
  series: {
    SS: series('DSMQ, all items', 'SS'),
    GM: series('DSMQ, glucose management', 'GM'),
    DC: series('DSMQ, dietary control', 'DC'),
    PA: series('DSMQ, physical activity', 'PA'),
    HU: series('DSMQ, use of health care', 'HU'),
  },
  fields: {
    answers,
    scales: derived(
      Type.Optional(
        Type.Object(
          {
            GM: scale('Glucose management'),
            DC: scale('Dietary control'),
            PA: scale('Physical activity'),
            HU: scale('Use of health care'),
            SS: scale('All items'),
          },
          { additionalProperties: false, description: 'Its scores' },
        ),
      ),
    ),
  },
  rules: {
    together: ['answers'],
    derived: (values) =>
      areAnswers(values.answers).length === 0 ? { scales: dsmq(values.answers as never) } : {},
  },
})
