import { Type } from '@sinclair/typebox'
import { quantity } from '../../../schemas/common.ts'
import { derivedText } from '../../../schemas/forms/fields.ts'
import type { Values } from '../../registered/kind.ts'
import { adultCategory, calculated, isAdult, whoAdult } from '../calculations/bmi.ts'
import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { bodyMassIndex, height, weight } from '../quantities/quantities.ts'
import { quantityViolations, quantityWarnings } from '../quantities/quantity.ts'
import { rounded } from '../quantities/units.ts'
import { seriesOf } from '../series.ts'
import { allOrNone, isThere } from '../together.ts'

const BODY = ['weight', 'weightUnit', 'height', 'heightUnit'] as const

/** Of what a device says that is kept which is shown, hence that is judged. */
const shown = (values: Values): number | undefined =>
  calculated(values) ?? (typeof values.bmi === 'number' ? rounded(values.bmi, 1) : undefined)

export const BodyMassIndex = measurement({
  name: 'BodyMassIndex',
  path: 'bmi',
  noun: 'body-mass index',
  description: 'A body-mass index: calculated by the service from weight and height, or reported by a device',
  words: { en: 'body mass index', nl: 'body mass index' },
  specified: ['list', 'add', 'omh'],
  quantities: { weight, height },
  series: { bmi: seriesOf(bodyMassIndex) },
  presets: { who: whoAdult },
  unrounded: (record) => ({ bmi: calculated(record) }),
  summary: 'category',
  optional: ['weight', 'height'],
  fields: {
    bmi: Type.Optional(quantity('Body-mass index, in kg/m2: 5 to 200', 22.9)),
    age: Type.Optional(
      Type.Number({ minimum: 0, maximum: 150, description: 'Age in years, when it is known' }),
    ),
    category: derivedText(
      'By the WHO, for adults; absent for people under 20, and where the age is not known',
      'normal',
    ),
    method: derivedText('calculated, or measured by a device', 'calculated'),
  },
  examples: [
    { timestamp: '2026-03-01T08:30:00Z', weight: 72.5, weightUnit: 'kg', height: 178, heightUnit: 'cm' },
  ],
  rules: {
    together: ['bmi', 'age'],
    missing: (values) => {
      const known = isThere(values, 'bmi') || BODY.some((name) => isThere(values, name))
      return known ? allOrNone(values, BODY) : [...BODY]
    },
    violations: (values, changed) => [
      ...(isThere(values, 'weight') && changed.includes('bmi') && isThere(values, 'bmi')
        ? [{ path: 'bmi', code: 'calculated', message: 'must be absent: it follows from weight and height' }]
        : []),
      ...quantityViolations(bodyMassIndex, 'bmi', calculated(values) ?? values.bmi, 'kg/m2'),
    ],
    derived: (values) => {
      const bmi = shown(values)
      if (bmi === undefined) return {}
      return {
        bmi: rounded(bmi, 1),
        method: calculated(values) === undefined ? 'device' : 'calculated',
        ...(typeof values.age === 'number' && isAdult(values.age) && { category: adultCategory(bmi) }),
      }
    },
  },
  omh: omh('body-mass-index', '3.0', {
    body_mass_index: {
      of: ({ bmi }) => ({ value: bmi, unit: 'kg/m^2' }),
      read: (said) => ({ bmi: (said as Values | undefined)?.value }),
    },
  }),
  warnings: (values) => quantityWarnings(bodyMassIndex, 'bmi', shown(values), 'kg/m2'),
})
