import { Type } from '@sinclair/typebox'
import { derivedField } from '../../../schemas/forms/fields.ts'
import { nullable } from '../../../schemas/forms/nullable.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import { DSMQ_SCALES, dsmqScoreOf, scoreDsmq } from '../calculations/scores/dsmq-score.ts'
import { answersElement, questionnaireResponse } from '../fhir/questionnaire-response.ts'
import { defineMeasurement } from '../measurement.ts'
import type { Series } from '../series.ts'

const ITEM_COUNT = DSMQ_SCALES.SS.length

const answersSchema = Type.Array(Type.Unsafe<number | 'NR' | null>({ enum: [0, 1, 2, 3, 'NR', null] }), {
  minItems: ITEM_COUNT,
  maxItems: ITEM_COUNT,
  description:
    'Answers to items 1 to 16, each 0 to 3; NR if the treatment does not require it, null for a missing answer',
  examples: [[3, 2, 3, 'NR', 1, 'NR', 0, 1, 2, 1, 2, 1, 1, 0, 2, 1]],
})

const checkAnswers = createValidator(answersSchema)

const scaleSchema = (description: string) =>
  nullable(
    Type.Object(
      {
        raw: Type.Integer({
          description: 'Sum of the answers, reversed where a high answer is unfavourable',
          examples: [7],
        }),
        max: Type.Integer({
          description: 'Highest possible sum for this number of answers',
          examples: [9],
        }),
        score: Type.Number({ description: 'Score, 0 to 10; higher is better', examples: [7.78] }),
        answered: Type.Integer({ description: 'Number of answered items', examples: [3] }),
      },
      {
        additionalProperties: false,
        description: `${description}; null when more than half of the answers are missing`,
      },
    ),
  )

const dsmqSeries = (label: string, scale: string): Series => ({
  label,
  field: `scales.${scale}.score`,
  unit: '{score}',
  axis: 'dsmq',
  range: [0, 10],
})

export const Dsmq = defineMeasurement({
  name: 'Dsmq',
  path: 'dsmq',
  specified: ['add'],
  noun: 'diabetes self-management questionnaire',
  description: 'A Diabetes Self-Management Questionnaire (DSMQ), about the past eight weeks',
  words: { en: 'questionnaire about diabetes self care', nl: 'vragenlijst over zelfzorg bij diabetes' },
  fhir: questionnaireResponse('dsmq', [answersElement('answers')]),
  group: 'questionnaires',
  series: {
    SS: dsmqSeries('DSMQ, all items', 'SS'),
    GM: dsmqSeries('DSMQ, glucose management', 'GM'),
    DC: dsmqSeries('DSMQ, dietary control', 'DC'),
    PA: dsmqSeries('DSMQ, physical activity', 'PA'),
    HU: dsmqSeries('DSMQ, use of health care', 'HU'),
  },
  exactValues: ({ scales = {} }) =>
    Object.fromEntries(
      Object.entries(scales as ReturnType<typeof scoreDsmq>).map(([name, scale]) => [
        name,
        scale ? dsmqScoreOf(scale) : undefined,
      ]),
    ),
  fields: {
    answers: answersSchema,
    scales: derivedField(
      Type.Optional(
        Type.Object(
          {
            GM: scaleSchema('Glucose management'),
            DC: scaleSchema('Dietary control'),
            PA: scaleSchema('Physical activity'),
            HU: scaleSchema('Use of health care'),
            SS: scaleSchema('All items'),
          },
          { additionalProperties: false, description: 'Scores of the scales' },
        ),
      ),
    ),
  },
  rules: {
    dependentFields: ['answers'],
    derived: (values) =>
      checkAnswers(values.answers).length === 0 ? { scales: scoreDsmq(values.answers as never) } : {},
  },
})
