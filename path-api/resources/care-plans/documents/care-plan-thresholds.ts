import { type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { MEASUREMENT_KINDS } from '../../../../records/kinds.ts'
import { thresholdChecksOf } from '../../../../records/measurements/alerts/plan-threshold-store.ts'
import { VALUE_SERIES } from '../../../../records/user-data/typed-measurement.ts'
import { closedObject, withArticle } from '../../../../schemas/common.ts'
import { documentThresholds } from '../../../../schemas/measurements/thresholds.ts'
import { convertibleUnitNames } from '../../../../schemas/measurements/units.ts'
import { withoutInvalidProperties } from '../../../../schemas/validation/violations.ts'
import { definePlanDocumentOperations } from './plan-document.ts'

const THRESHOLDS_MESSAGE = 'must be the name of a preset, limits, or a set with bands'

/** The store validates thresholds: a schema with several forms would report one fault several times. */
const thresholdsField = (
  noun: string,
  names: readonly string[],
  presetNames: readonly string[] = [],
  documentedRules?: TSchema,
) =>
  Type.Unsafe<unknown>({
    anyOf: [
      { type: 'string', description: 'Name of a preset', sentence: THRESHOLDS_MESSAGE },
      {
        type: 'object',
        propertyNames: { pattern: '^[A-Za-z]+$', sentence: THRESHOLDS_MESSAGE },
        description: 'Limits or bands',
        sentence: THRESHOLDS_MESSAGE,
      },
    ],
    sentence: THRESHOLDS_MESSAGE,
    ...(documentedRules && { documented: documentedRules }),
    description:
      `Thresholds for ${noun}: ${presetNames.length > 0 ? `${presetNames.join(', ')}; ` : ''}limits ` +
      `(${names.map((name) => `${name}Low, ${name}High`).join(', ')}, unit); or { name, unit, bands }`,
  })

const thresholdsByKind: TProperties = Object.fromEntries(
  MEASUREMENT_KINDS.map(({ path, noun, thresholdTarget: { names, unit, presets } }) => {
    const presetNames = Object.keys(presets)
    const documentedRules = documentThresholds(names, convertibleUnitNames(unit), presetNames)
    return [path, Type.Optional(thresholdsField(withArticle(noun), names, presetNames, documentedRules))]
  }),
)

/** Matches names of data types, excluding the built-in kinds. */
const TYPE_NAME_PATTERN = `^(?!(?:${Object.keys(thresholdsByKind).join('|')})$)[a-z][a-z0-9_-]{0,63}$`

const CarePlanThresholdsBody = {
  ...closedObject(
    'CarePlanThresholds',
    'Thresholds for the measurements of a care plan, by kind: the name of a preset, limits for the person, or your own ' +
      'bands, in the form of the function bloodPressureCondition. Your own bands with a severity above 0 count as ' +
      'outside the thresholds.',
    thresholdsByKind,
  ),
  patternProperties: {
    [TYPE_NAME_PATTERN]: thresholdsField('a data type whose values are numbers', [VALUE_SERIES]),
  },
  examples: [{ bloodpressure: 'esc2018', bodyweight: { weightLow: 60, weightHigh: 75, unit: 'kg' } }],
}

const thresholdRules = thresholdChecksOf(MEASUREMENT_KINDS)

export const carePlanThresholdsOperations = definePlanDocumentOperations({
  path: '/ehr/{ehrId}/careplan/{careplanId}/thresholds',
  name: 'Thresholds',
  source: 'Events: a value that was too high or too low',
  extra: true,
  schema: CarePlanThresholdsBody,
  documentsOf: ({ thresholds }) => thresholds,
  furtherViolations: (body, bySchema) =>
    Object.entries(withoutInvalidProperties(body, bySchema)).flatMap(
      ([name, thresholds]) => thresholdRules.get(name)?.(thresholds) ?? [],
    ),
  saving: {
    method: 'put',
    description:
      'From then on, a new or corrected measurement of the plan that is outside its thresholds creates an event of type ' +
      '`measurement-alert`. Everyone who sees the plan sees this event.',
    errors: ['RuleViolated', 'PreconditionFailed'],
  },
})
