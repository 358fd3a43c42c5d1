import { Type } from '@sinclair/typebox'
import { quantity, unit } from '../../../schemas/common.ts'
import type { Values } from '../../registered/kind.ts'
import { bmiOf } from '../calculations/bmi.ts'
import { measurement } from '../measurement.ts'
import { quantityViolations } from '../ranges.ts'
import { allOrNone, isThere } from '../together.ts'
import { rounded } from '../units.ts'

const BODY = ['weight', 'weightUnit', 'height', 'heightUnit'] as const

/** The BMI of weight and height that are valid each; undefined when they are not. */
function calculatedBmi({ weight, weightUnit, height, heightUnit }: Values): number | undefined {
  const valid =
    typeof weight === 'number' &&
    typeof weightUnit === 'string' &&
    quantityViolations('weight', weight, weightUnit).length === 0 &&
    typeof height === 'number' &&
    typeof heightUnit === 'string' &&
    quantityViolations('height', height, heightUnit).length === 0
  return valid ? bmiOf(weight, weightUnit, height, heightUnit) : undefined
}

export const BodyMassIndex = measurement({
  name: 'BodyMassIndex',
  noun: 'body-mass index',
  description:
    'A body-mass index: weight and height, of which the service calculates it; or the bmi that a device told',
  words: { en: 'body mass index', nl: 'body mass index' },
  fields: {
    weight: Type.Optional(quantity('Body weight, in weightUnit: 0.3 to 650 kg', 72.5)),
    weightUnit: Type.Optional(unit('weight', 'kg, g, [lb_av] (or lb)')),
    height: Type.Optional(quantity('Body height, in heightUnit: 20 to 275 cm', 178)),
    heightUnit: Type.Optional(unit('height', 'cm, m, [in_i] (or in)')),
    bmi: Type.Optional(quantity('Body-mass index, in kg/m2: 5 to 200', 22.9)),
  },
  examples: [
    { timestamp: '2026-03-01T08:30:00Z', weight: 72.5, weightUnit: 'kg', height: 178, heightUnit: 'cm' },
  ],
  rules: {
    together: [...BODY, 'bmi'],
    missing: (values) => {
      const known = isThere(values, 'bmi') || BODY.some((name) => isThere(values, name))
      return known ? allOrNone(values, BODY) : [...BODY]
    },
    violations: (values, changed) => {
      const own = [
        ...quantityViolations('weight', values.weight, values.weightUnit),
        ...quantityViolations('height', values.height, values.heightUnit),
      ]
      if (isThere(values, 'weight') && changed.includes('bmi') && isThere(values, 'bmi'))
        own.push({
          path: 'bmi',
          code: 'calculated',
          message: 'must be absent: it follows from weight and height',
        })
      return own.length > 0 ? own : quantityViolations('bmi', calculatedBmi(values) ?? values.bmi, 'kg/m2')
    },
    derived: (values) => {
      const bmi = calculatedBmi(values)
      return bmi === undefined ? {} : { bmi: rounded(bmi, 1) }
    },
  },
})
