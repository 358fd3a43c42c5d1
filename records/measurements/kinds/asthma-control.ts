import { Type } from '@sinclair/typebox'
import { AcqParams } from '../../../schemas/acq.ts'
import { derivedNumber, derivedText, inPathAs } from '../../../schemas/forms/fields.ts'
import { checkOf } from '../../../schemas/registry.ts'
import { neutralLabel } from '../../questionnaires/text-packs.ts'
import type { Values } from '../../registered/kind.ts'
import { acq, acqChange, acqItems, acqViolations } from '../calculations/scores/acq.ts'
import type { Preset } from '../calculations/thresholds.ts'
import { measurement } from '../measurement.ts'
import type { OmhBody } from '../omh.ts'

const { version, ...facts } = AcqParams.properties

/** What is scored; undefined as long as it does not fit its schema, which says why. */
function paramsOf({ acqVersion, ...values }: Values): AcqParams | undefined {
  const sent = Object.keys(facts).flatMap((name) => (values[name] == null ? [] : [[name, values[name]]]))
  const params = { version: acqVersion, ...Object.fromEntries(sent) }
  return isScorable(params).length === 0 ? (params as AcqParams) : undefined
}

const isScorable = checkOf(AcqParams)

/** Unrounded. */
const meanOf = ({ sum, acqVersion }: Values): number => Number(sum) / Number(acqVersion)

/** IEEE 1752.1 has questionnaires of any kind; the questions are told by labels of ours, since the texts are not. */
const survey: OmhBody = {
  schema: { namespace: 'ieee', name: 'survey', version: '1.0' },
  modality: 'self-reported',
  body(record) {
    const params = paramsOf(record)
    if (!params) return undefined
    const { timestamp, score = null, sum = null, answered, control = null } = record
    return {
      items: acqItems(params).map((answer, i) => ({
        question: { label: `acq-${i + 1}`, text: neutralLabel('ACQ', i + 1) },
        answers: answer === null ? [] : [{ value: answer, code: answer }],
      })),
      delivery_details: {
        end_date_time: timestamp,
        end_status: answered === 0 ? 'missed' : score === null ? 'abandoned' : 'completed',
      },
      score: { instrument: `ACQ-${params.version}`, value: score, sum, answered, control },
    }
  },
}

const control: Preset<'score'> = {
  ...{ unit: '{score}', alertFrom: 2 },
  bands: [
    { severity: 0, code: 'well-controlled', label: 'Well controlled', score: { lte: 0.75 } },
    { severity: 1, code: 'borderline', label: 'Borderline', score: { gt: 0.75, lt: 1.5 } },
    { severity: 2, code: 'not-well-controlled', label: 'Not well controlled', score: { gte: 1.5 } },
  ],
}

export const Acq = measurement({
  name: 'Acq',
  path: 'acq',
  specified: ['list', 'add', 'get', 'omh'],
  noun: 'asthma control questionnaire',
  description: 'An Asthma Control Questionnaire (ACQ), about the past week',
  words: { en: 'asthma control questionnaire', nl: 'vragenlijst over astmacontrole' },
  group: 'questionnaires',
  series: {
    score: { label: 'ACQ score', field: 'score', unit: '{score}', axis: 'acq', range: [0, 6] },
  },
  presets: { control },
  summary: 'control',
  fields: {
    // What is called version elsewhere counts the writes.
    acqVersion: inPathAs('version', version),
    ...facts,
    score: derivedNumber('The unweighted mean, 0 to 6; null when an item has no answer', 1.5),
    sum: derivedNumber('The sum of the items; null when one has no answer', 9),
    answered: derivedNumber('How many items have an answer', 6),
    control: derivedText(
      'well-controlled, borderline or not-well-controlled, by the unrounded score',
      'not-well-controlled',
    ),
  },
  omh: survey,
  examples: [{ timestamp: '2026-03-01T08:30:00Z', acqVersion: 6, answers: [2, 1, 2, 1, 1, 2] }],
  rules: {
    together: ['acqVersion', ...Object.keys(facts)],
    violations: (values) => {
      const params = paramsOf(values)
      return params ? acqViolations(params) : []
    },
    derived: (values) => {
      const params = paramsOf(values)
      return params ? { ...acq(params) } : {}
    },
  },
  comparison: {
    alike: ['carePlanId', 'acqVersion'],
    of: 'score',
    fields: {
      change: Type.Optional(
        Type.Object(
          {
            since: Type.String({ format: 'date-time', description: 'When the previous one was filled in' }),
            delta: Type.Number({ description: 'Score minus the previous score', examples: [-0.5] }),
            important: Type.Boolean({ description: 'Whether it reaches the minimal important difference' }),
          },
          {
            additionalProperties: false,
            description:
              'Change since the previous one of the same version in the same care plan; null without one',
          },
        ),
      ),
    },
    told: (now, former) => ({
      change: { since: former.timestamp, ...acqChange(meanOf(former), meanOf(now), now.age) },
    }),
  },
})
