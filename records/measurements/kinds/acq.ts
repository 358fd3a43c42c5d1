import { Type } from '@sinclair/typebox'
import { derivedNumberField, derivedTextField, withPathName } from '../../../schemas/forms/fields.ts'
import { AcqParams } from '../../../schemas/measurements/acq.ts'
import { createValidator } from '../../../schemas/validation/validators.ts'
import type { Values } from '../../ehr-records/kind.ts'
import { neutralLabel } from '../../questionnaires/text-packs.ts'
import {
  acqItemsOf,
  acqMeanOf,
  acqViolations,
  compareAcqMeans,
  scoreAcq,
} from '../calculations/scores/acq-score.ts'
import type { ThresholdPreset } from '../calculations/thresholds.ts'
import { answersElement, numberItem, questionnaireResponse } from '../fhir/questionnaire-response.ts'
import { defineMeasurement } from '../measurement.ts'
import { localTimeOf, type OmhBody } from '../omh.ts'

const { version, ...acqFactFields } = AcqParams.properties

/** The parameters of the score; undefined if they violate their schema, which then reports the error. */
function acqParamsOf({ acqVersion, ...values }: Values): AcqParams | undefined {
  const facts = Object.keys(acqFactFields).flatMap((name) =>
    values[name] == null ? [] : [[name, values[name]]],
  )
  const params = { version: acqVersion, ...Object.fromEntries(facts) }
  return checkAcqParams(params).length === 0 ? (params as AcqParams) : undefined
}

const checkAcqParams = createValidator(AcqParams)

const meanOfRecord = ({ sum, acqVersion }: Values) => acqMeanOf(Number(sum), Number(acqVersion))

/**
 * IEEE 1752.1 has a schema for any questionnaire. Our labels name the questions, since their texts are
 * licensed.
 */
const acqSurvey: OmhBody = {
  schema: { namespace: 'ieee', name: 'survey', version: '1.0' },
  modality: 'self-reported',
  body(record) {
    const params = acqParamsOf(record)
    if (!params) return undefined
    const { score = null, sum = null, answered, control = null } = record
    return {
      items: acqItemsOf(params).map((answer, i) => ({
        question: { label: `acq-${i + 1}`, text: neutralLabel('ACQ', i + 1) },
        answers: answer === null ? [] : [{ value: answer, code: answer }],
      })),
      delivery_details: {
        end_date_time: localTimeOf(record),
        end_status: answered === 0 ? 'missed' : score === null ? 'abandoned' : 'completed',
      },
      score: { instrument: `ACQ-${params.version}`, value: score, sum, answered, control },
    }
  },
}

const controlPreset: ThresholdPreset<'score'> = {
  unit: '{score}',
  alertFrom: 2,
  bands: [
    { severity: 0, code: 'well-controlled', label: 'Well controlled', score: { lte: 0.75 } },
    { severity: 1, code: 'borderline', label: 'Borderline', score: { gt: 0.75, lt: 1.5 } },
    { severity: 2, code: 'not-well-controlled', label: 'Not well controlled', score: { gte: 1.5 } },
  ],
}

export const Acq = defineMeasurement({
  name: 'Acq',
  path: 'acq',
  specified: ['list', 'add', 'get', 'omh'],
  noun: 'asthma control questionnaire',
  description: 'An Asthma Control Questionnaire (ACQ), about the past week',
  words: { en: 'asthma control questionnaire', nl: 'vragenlijst over astmacontrole' },
  fhir: questionnaireResponse(
    'acq',
    [
      answersElement('answers'),
      numberItem('relieverPuffs', 'valueInteger'),
      numberItem('fev1PercentPredicted', 'valueDecimal'),
      numberItem('age', 'valueDecimal'),
    ],
    'acqVersion',
  ),
  group: 'questionnaires',
  series: {
    score: { label: 'ACQ score', field: 'score', unit: '{score}', axis: 'acq', range: [0, 6] },
  },
  presets: { control: controlPreset },
  exactValues: (record) => (typeof record.sum === 'number' ? { score: meanOfRecord(record) } : {}),
  summary: 'control',
  fields: {
    // Elsewhere the path name `version` means the version of the record.
    acqVersion: withPathName('version', version),
    ...acqFactFields,
    score: derivedNumberField('Unweighted mean of the answers, 0 to 6; null when an answer is missing', 1.5),
    sum: derivedNumberField('Sum of the answers; null when an answer is missing', 9),
    answered: derivedNumberField('Number of answered items', 6),
    control: derivedTextField(
      'Level of control, by the unrounded score: well-controlled, borderline or not-well-controlled',
      'not-well-controlled',
    ),
  },
  omh: acqSurvey,
  examples: [{ timestamp: '2026-03-01T08:30:00Z', acqVersion: 6, answers: [2, 1, 2, 1, 1, 2] }],
  rules: {
    dependentFields: ['acqVersion', ...Object.keys(acqFactFields)],
    violations: (values) => {
      const params = acqParamsOf(values)
      return params ? acqViolations(params) : []
    },
    derived: (values) => {
      const params = acqParamsOf(values)
      return params ? { ...scoreAcq(params) } : {}
    },
  },
  comparison: {
    sameFields: ['carePlanId', 'acqVersion'],
    comparedField: 'score',
    fields: {
      change: Type.Optional(
        Type.Object(
          {
            since: Type.String({ format: 'date-time', description: 'Time of the previous questionnaire' }),
            delta: Type.Number({ description: 'Score minus the previous score', examples: [-0.5] }),
            important: Type.Boolean({
              description: 'True if the change reaches the minimal important difference',
            }),
          },
          {
            additionalProperties: false,
            description:
              'Change since the previous questionnaire of the same version in the same care plan; null without one',
          },
        ),
      ),
    },
    describeChange: (current, former) => ({
      change: {
        since: former.timestamp,
        ...compareAcqMeans(meanOfRecord(former), meanOfRecord(current), current.age),
      },
    }),
  },
})
