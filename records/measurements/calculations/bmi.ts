import type { BmiParams, BmiResult } from '../../../schemas/bmi.ts'
import type { Violation } from '../../../schemas/violation.ts'
import type { Values } from '../../registered/kind.ts'
import {
  bodyMassIndex,
  height as heightQuantity,
  weight as weightQuantity,
} from '../quantities/quantities.ts'
import { inOwnUnit, quantityViolations } from '../quantities/quantity.ts'
import { convert, rounded } from '../quantities/units.ts'
import type { Preset } from './thresholds.ts'

/** Each ends below its bound; the farther from normal, the more severe. */
const ADULT_CATEGORIES = [
  [16, 'severe-thinness', 6],
  [17, 'moderate-thinness', 3],
  [18.5, 'mild-thinness', 2],
  [25, 'normal', 0],
  [30, 'pre-obese', 1],
  [35, 'obese-1', 4],
  [40, 'obese-2', 5],
  [Number.POSITIVE_INFINITY, 'obese-3', 7],
] as const

export type AdultCategory = (typeof ADULT_CATEGORIES)[number][1]

/** The WHO's adult categories as conditions: mild thinness and what is farther from normal than pre-obese is outside. */
export const whoAdult: Preset<'bmi'> = {
  ...{ unit: 'kg/m2', alertFrom: 2 },
  bands: ADULT_CATEGORIES.map(([lt, code, severity], i) => ({
    ...{ code, label: code.replace(/^./, (first) => first.toUpperCase()).replace('-', ' '), severity },
    bmi: { gte: ADULT_CATEGORIES[i - 1]?.[0] ?? 0, lt },
  })),
}

/** The body-mass index in kg/m2, unrounded. */
function bmiOf(weight: number, weightUnit: string, height: number, heightUnit: string): number {
  return convert(weight, weightUnit, 'kg') / convert(height, heightUnit, 'm') ** 2
}

/** The index of weight and height that are valid each; undefined when they are not. */
export function calculated(values: Values): number | undefined {
  const kilograms = inOwnUnit(weightQuantity, values.weight, values.weightUnit)
  const centimetres = inOwnUnit(heightQuantity, values.height, values.heightUnit)
  return kilograms === undefined || centimetres === undefined
    ? undefined
    : bmiOf(kilograms, 'kg', centimetres, 'cm')
}

/** The WHO category of an adult's BMI; each begins at its lower bound. Not for people under 20. */
export const adultCategory = (bmi: number): AdultCategory =>
  ADULT_CATEGORIES.find(([below]) => bmi < below)?.[1] ?? 'obese-3'

/** The WHO's adult categories begin here. */
const ADULT_AGE = 20

export const isAdult = (age: number): boolean => age >= ADULT_AGE

/** What the schema cannot say about the parameters: units and ranges. */
export const bmiViolations = (params: BmiParams): Violation[] => [
  ...quantityViolations(weightQuantity, 'weight', params.weight, params.weightUnit),
  ...quantityViolations(heightQuantity, 'height', params.height, params.heightUnit),
  ...quantityViolations(bodyMassIndex, 'bmi', calculated(params), bodyMassIndex.unit),
]

/** The BMI with 1 decimal and its adult category; no category for whom is said to be under 20. */
export function bmi({ weight, weightUnit, height, heightUnit, age }: BmiParams): BmiResult {
  const value = bmiOf(weight, weightUnit, height, heightUnit)
  const adult = age === undefined || isAdult(age)
  return {
    bmi: rounded(value, 1),
    unit: 'kg/m2',
    category: adult ? adultCategory(value) : null,
    classification: adult ? 'who-adult' : null,
  }
}
