import { Type } from '@sinclair/typebox'
import { derivedTextField } from '../../../schemas/forms/fields.ts'
import { Fraction } from '../../../schemas/fraction.ts'
import type { Values } from '../../ehr-records/kind.ts'
import { extensionElement, ownUri } from '../../fhir/elements.ts'
import { adultCategoryOf, bmiFromValues, whoAdultPreset } from '../calculations/bmi.ts'
import { isPresent, missingDependentFields } from '../dependent-fields.ts'
import { observationPart, ownUnitObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { defineOmhBody } from '../omh.ts'
import { bodyMassIndex, height, weight } from '../quantities/quantities.ts'
import { ownUnitField, quantityViolations, quantityWarnings } from '../quantities/quantity.ts'
import { seriesOf } from '../series.ts'

const BODY_FIELDS = ['weight', 'weightUnit', 'height', 'heightUnit'] as const

/** The exact BMI: from weight and height if given, else the device's own value. */
const exactBmi = (values: Values): Fraction | undefined =>
  bmiFromValues(values) ?? (typeof values.bmi === 'number' ? Fraction.of(values.bmi) : undefined)

export const BodyMassIndex = defineMeasurement({
  name: 'BodyMassIndex',
  path: 'bmi',
  noun: 'body-mass index',
  description: 'A body-mass index: calculated by the service from weight and height, or reported by a device',
  words: { en: 'body mass index', nl: 'body mass index' },
  specified: ['list', 'add', 'omh'],
  quantities: { weight, height },
  series: { bmi: seriesOf(bodyMassIndex) },
  presets: { who: whoAdultPreset },
  exactValues: (record) => ({ bmi: exactBmi(record) }),
  summary: 'category',
  optional: ['weight', 'height'],
  fhir: ownUnitObservation('bmi', bodyMassIndex, {
    profile: 'bmi',
    elements: [extensionElement('age', ownUri('age'), 'valueDecimal')],
    parts: {
      w: observationPart('weight', weight, { profile: 'bodyweight' }),
      h: observationPart('height', height, { profile: 'bodyheight' }),
    },
  }),
  fields: {
    bmi: Type.Optional(ownUnitField('Body-mass index, in kg/m2', bodyMassIndex)),
    age: Type.Optional(Type.Number({ minimum: 0, maximum: 150, description: 'Age in years, if known' })),
    category: derivedTextField(
      'Category of the WHO for adults, by the unrounded value; absent if the age is below 20',
      'normal',
    ),
    method: derivedTextField(
      'Method: calculated from weight and height, or measured by a device',
      'calculated',
    ),
  },
  examples: [
    { timestamp: '2026-03-01T08:30:00Z', weight: 72.5, weightUnit: 'kg', height: 178, heightUnit: 'cm' },
  ],
  rules: {
    dependentFields: ['bmi', 'age'],
    missing: (values) => {
      const hasAnyValue = isPresent(values, 'bmi') || BODY_FIELDS.some((name) => isPresent(values, name))
      return hasAnyValue ? missingDependentFields(values, BODY_FIELDS) : [...BODY_FIELDS]
    },
    violations: (values, changedFields) => [
      ...(isPresent(values, 'weight') && changedFields.includes('bmi') && isPresent(values, 'bmi')
        ? [
            {
              path: 'bmi',
              code: 'calculated',
              message: 'must be left out because it is calculated from weight and height',
            },
          ]
        : []),
      ...quantityViolations(bodyMassIndex, 'bmi', exactBmi(values)?.toNumber(), 'kg/m2'),
    ],
    derived: (values) => {
      const calculatedBmi = bmiFromValues(values)
      const bmi = exactBmi(values)
      if (bmi === undefined) return {}
      return {
        // A device's own value stays as it was sent, since its digits decide about the category.
        bmi: calculatedBmi ? calculatedBmi.round(1) : values.bmi,
        method: calculatedBmi ? 'calculated' : 'device',
        category: adultCategoryOf(bmi, values.age),
      }
    },
  },
  omh: defineOmhBody('body-mass-index', '3.0', {
    body_mass_index: {
      format: ({ bmi }) => ({ value: bmi, unit: 'kg/m^2' }),
      parse: (json) => ({ bmi: (json as Values | undefined)?.value }),
    },
  }),
  warnings: (values) => quantityWarnings(bodyMassIndex, 'bmi', exactBmi(values)?.toNumber(), 'kg/m2'),
})
