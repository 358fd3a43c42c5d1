import { Type } from '@sinclair/typebox'
import { derived } from '../../../schemas/forms/fields.ts'
import { checkOf } from '../../../schemas/registry.ts'
import type { Band } from '../../../schemas/thresholds.ts'
import type { Values } from '../../registered/kind.ts'
import { hads, hadsAnswers } from '../calculations/scores/hads.ts'
import type { Preset } from '../calculations/thresholds.ts'
import { measurement } from '../measurement.ts'
import type { Series } from '../series.ts'
import { isThere } from '../together.ts'

const ITEMS = 14

const EXAMPLE = [2, 1, 1, 0, 2, 1, 1, 0, 1, 0, 1, 1, 0, 0]

const items = (description: string, example: unknown) =>
  Type.Array(Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, maximum: 3 }), {
    minItems: ITEMS,
    maxItems: ITEMS,
    description,
    examples: [example],
  })

const answers = items('Items 1 to 14 as they count, each 0 to 3; null where there is no answer', EXAMPLE)

const areItems = checkOf(answers)

/** The items as they count; undefined as long as they do not fit their schema, which says why. */
function answersOf(values: Values): (number | null)[] | undefined {
  const sent = values.answers ?? values.optionIndex
  if (areItems(sent).length > 0) return undefined
  const given = sent as (number | null)[]
  return isThere(values, 'answers') ? given : hadsAnswers(given)
}

const subscale = (of: string) =>
  derived(
    Type.Optional(
      Type.Object(
        {
          score: Type.Unsafe<number | null>({
            type: ['number', 'null'],
            description: '0 to 21; null when fewer than four of its seven items have an answer',
            examples: [8],
          }),
          band: Type.Unsafe<string | null>({
            type: ['string', 'null'],
            description: 'normal, borderline or abnormal, by the unrounded score',
            examples: ['borderline'],
          }),
          missing: Type.Integer({ description: 'How many of its items have no answer', examples: [0] }),
        },
        { additionalProperties: false, description: `Of the items about ${of}` },
      ),
    ),
  )

const series = (label: string, field: string): Series => ({
  ...{ label, field, unit: '{score}', axis: 'hads', range: [0, 21] },
})

const band = (severity: number, code: string, label: string, gt: number): Band<'anxiety' | 'depression'> => ({
  ...{ severity, code, label, combine: 'any' },
  anxiety: { gt },
  depression: { gt },
})

/** The cut-offs of Zigmond and Snaith, for either subscale. */
const zigmond: Preset<'anxiety' | 'depression'> = {
  ...{ unit: '{score}', alertFrom: 2 },
  bands: [
    band(0, 'normal', 'Normal', -1),
    band(1, 'borderline', 'Borderline', 7),
    band(2, 'abnormal', 'Abnormal', 10),
  ],
}

export const Hads = measurement({
  name: 'Hads',
  path: 'hads',
  specified: ['list', 'add'],
  noun: 'anxiety and depression scale',
  description:
    'A Hospital Anxiety and Depression Scale (HADS), about the past week: its answers as they count, or the options ' +
    'that were ticked',
  words: { en: 'anxiety and depression scale', nl: 'vragenlijst over angst en depressie' },
  group: 'questionnaires',
  series: {
    anxiety: series('HADS anxiety', 'anxiety.score'),
    depression: series('HADS depression', 'depression.score'),
  },
  presets: { zigmond },
  fields: {
    answers: Type.Optional(answers),
    optionIndex: Type.Optional(
      items(
        'In place of answers: which option of each item was ticked, from 0 for the first one on the form',
        hadsAnswers(EXAMPLE),
      ),
    ),
    anxiety: subscale('anxiety, the odd ones'),
    depression: subscale('depression, the even ones'),
  },
  examples: [{ timestamp: '2026-03-01T08:30:00Z', answers: EXAMPLE }],
  rules: {
    together: ['answers', 'optionIndex'],
    missing: (values) => (isThere(values, 'optionIndex') ? [] : ['answers']),
    violations: (values) =>
      isThere(values, 'answers') && isThere(values, 'optionIndex')
        ? [{ path: 'optionIndex', code: 'twice', message: 'must be absent when there are answers' }]
        : [],
    derived: (values) => {
      const counted = answersOf(values)
      return counted ? hads(counted) : {}
    },
  },
})
