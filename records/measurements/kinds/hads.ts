import { Type } from '@sinclair/typebox'
import { derivedField } from '../../../schemas/forms/fields.ts'
import type { Band } from '../../../schemas/measurements/thresholds.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import type { Values } from '../../ehr-records/kind.ts'
import { exactHadsScores, hadsAnswersFromOptions, scoreHads } from '../calculations/scores/hads-score.ts'
import type { ThresholdPreset } from '../calculations/thresholds.ts'
import { isPresent } from '../dependent-fields.ts'
import { answersElement, questionnaireResponse } from '../fhir/questionnaire-response.ts'
import { defineMeasurement } from '../measurement.ts'
import type { Series } from '../series.ts'

const ITEM_COUNT = 14

const EXAMPLE_ANSWERS = [2, 1, 1, 0, 2, 1, 1, 0, 1, 0, 1, 1, 0, 0]

const itemsSchema = (description: string, example: unknown) =>
  Type.Array(Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, maximum: 3 }), {
    minItems: ITEM_COUNT,
    maxItems: ITEM_COUNT,
    description,
    examples: [example],
  })

const answersSchema = itemsSchema(
  'Scores of items 1 to 14, each 0 to 3; null for a missing answer',
  EXAMPLE_ANSWERS,
)

const checkItems = createValidator(answersSchema)

/** The answers as they are scored; undefined if they violate their schema, which then reports the error. */
function hadsAnswersOf(values: Values): (number | null)[] | undefined {
  const items = values.answers ?? values.optionIndex
  if (checkItems(items).length > 0) return undefined
  const answers = items as (number | null)[]
  return isPresent(values, 'answers') ? answers : hadsAnswersFromOptions(answers)
}

const subscaleSchema = (subscale: string) =>
  derivedField(
    Type.Optional(
      Type.Object(
        {
          score: Type.Unsafe<number | null>({
            type: ['number', 'null'],
            description: 'Score, 0 to 21; null when fewer than four of the seven items have an answer',
            examples: [8],
          }),
          band: Type.Unsafe<string | null>({
            type: ['string', 'null'],
            description: 'Band of the unrounded score: normal, borderline or abnormal',
            examples: ['borderline'],
          }),
          missing: Type.Integer({ description: 'Number of items without an answer', examples: [0] }),
        },
        { additionalProperties: false, description: `Score of the ${subscale}` },
      ),
    ),
  )

const hadsSeries = (label: string, field: string): Series => ({
  label,
  field,
  unit: '{score}',
  axis: 'hads',
  range: [0, 21],
})

const hadsBand = (
  severity: number,
  code: string,
  label: string,
  gt: number,
): Band<'anxiety' | 'depression'> => ({
  severity,
  code,
  label,
  combine: 'any',
  anxiety: { gt },
  depression: { gt },
})

/** The cut-offs of Zigmond and Snaith, for both subscales. */
const zigmondPreset: ThresholdPreset<'anxiety' | 'depression'> = {
  unit: '{score}',
  alertFrom: 2,
  bands: [
    hadsBand(0, 'normal', 'Normal', -1),
    hadsBand(1, 'borderline', 'Borderline', 7),
    hadsBand(2, 'abnormal', 'Abnormal', 10),
  ],
}

export const Hads = defineMeasurement({
  name: 'Hads',
  path: 'hads',
  specified: ['list', 'add'],
  noun: 'anxiety and depression scale',
  description:
    'A Hospital Anxiety and Depression Scale (HADS), about the past week: either the scores of the items or the ' +
    'chosen options',
  words: { en: 'anxiety and depression scale', nl: 'vragenlijst over angst en depressie' },
  fhir: questionnaireResponse('hads', [answersElement('answers'), answersElement('optionIndex', 'option-')]),
  group: 'questionnaires',
  series: {
    anxiety: hadsSeries('HADS anxiety', 'anxiety.score'),
    depression: hadsSeries('HADS depression', 'depression.score'),
  },
  presets: { zigmond: zigmondPreset },
  exactValues: (record) => {
    const answers = hadsAnswersOf(record)
    return answers ? exactHadsScores(answers) : {}
  },
  fields: {
    answers: Type.Optional(answersSchema),
    optionIndex: Type.Optional(
      itemsSchema(
        'Chosen option of each item, instead of answers; 0 is the first one on the form',
        hadsAnswersFromOptions(EXAMPLE_ANSWERS),
      ),
    ),
    anxiety: subscaleSchema('anxiety subscale (odd items)'),
    depression: subscaleSchema('depression subscale (even items)'),
  },
  examples: [{ timestamp: '2026-03-01T08:30:00Z', answers: EXAMPLE_ANSWERS }],
  rules: {
    dependentFields: ['answers', 'optionIndex'],
    missing: (values) => (isPresent(values, 'optionIndex') ? [] : ['answers']),
    violations: (values) =>
      isPresent(values, 'answers') && isPresent(values, 'optionIndex')
        ? [{ path: 'optionIndex', code: 'twice', message: 'must be left out when answers are given' }]
        : [],
    derived: (values) => {
      const answers = hadsAnswersOf(values)
      return answers ? scoreHads(answers) : {}
    },
  },
})
