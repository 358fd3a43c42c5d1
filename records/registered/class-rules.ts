import type { ClassName } from '../../schemas/classes.ts'
import { eventRules } from '../events/rules.ts'
import { bmiOf } from '../measurements/bmi.ts'
import { diastolicViolations, quantityViolations } from '../measurements/ranges.ts'
import { rounded } from '../measurements/units.ts'
import type { ClassRules, Values } from './class-rule.ts'
import { payloadViolations } from './payload.ts'

const isThere = (values: Values, name: string): boolean => values[name] !== undefined && values[name] !== null

const allOrNone = (values: Values, names: readonly string[]): string[] =>
  names.some((name) => isThere(values, name)) ? names.filter((name) => !isThere(values, name)) : []

const bloodPressure: ClassRules = {
  together: ['systolic', 'systolicUnit', 'diastolic', 'diastolicUnit'],
  missing: (values) => allOrNone(values, ['diastolic', 'diastolicUnit']),
  violations: (values) => [
    ...quantityViolations('systolic', values.systolic, values.systolicUnit),
    ...quantityViolations('diastolic', values.diastolic, values.diastolicUnit),
    ...diastolicViolations(values),
  ],
}

const BODY = ['weight', 'weightUnit', 'height', 'heightUnit'] as const

const bodyMassIndex: ClassRules = {
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
    const calculated = calculatedBmi(values)
    if (isThere(values, 'weight') && changed.includes('bmi') && isThere(values, 'bmi'))
      own.push({
        path: 'bmi',
        code: 'calculated',
        message: 'must be absent: it follows from weight and height',
      })
    return own.length > 0 ? own : quantityViolations('bmi', calculated ?? values.bmi, 'kg/m2')
  },
  derived: (values) => {
    const bmi = calculatedBmi(values)
    return bmi === undefined ? {} : { bmi: rounded(bmi, 1) }
  },
}

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

const bodyTemperature: ClassRules = {
  together: ['temperature', 'temperatureUnit'],
  violations: (values) => quantityViolations('temperature', values.temperature, values.temperatureUnit),
}

const custom: ClassRules = { together: [], violations: (values) => payloadViolations(values.payload) }

const plain: ClassRules = { together: [], violations: () => [] }

export const classRules: Record<ClassName, ClassRules> = {
  Ehr: plain,
  CarePlan: plain,
  Goal: plain,
  Task: plain,
  Event: eventRules,
  Custom: custom,
  BloodPressure: bloodPressure,
  BodyMassIndex: bodyMassIndex,
  BodyTemperature: bodyTemperature,
}
