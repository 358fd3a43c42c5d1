import type { BmiParams, BmiResult } from '../../../schemas/measurements/bmi.ts'
import { convertUnit, roundTo } from '../../../schemas/measurements/units.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { Values } from '../../ehr-records/kind.ts'
import {
  bodyMassIndex,
  height as heightQuantity,
  weight as weightQuantity,
} from '../quantities/quantities.ts'
import { quantityViolations, toOwnUnit } from '../quantities/quantity.ts'
import type { ThresholdPreset } from './thresholds.ts'

/** Upper bound (exclusive), code and severity; the severity grows with the distance from normal. */
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

/** The WHO's adult categories as a preset. Alerts begin at mild thinness and above pre-obese. */
export const whoAdultPreset: ThresholdPreset<'bmi'> = {
  ...{ unit: 'kg/m2', alertFrom: 2 },
  bands: ADULT_CATEGORIES.map(([lt, code, severity], i) => ({
    ...{ code, label: code.replace(/^./, (first) => first.toUpperCase()).replace('-', ' '), severity },
    bmi: { gte: ADULT_CATEGORIES[i - 1]?.[0] ?? 0, lt },
  })),
}

/** The body-mass index in kg/m2, unrounded. */
function bmiFromWeightAndHeight(
  weight: number,
  weightUnit: string,
  height: number,
  heightUnit: string,
): number {
  return convertUnit(weight, weightUnit, 'kg') / convertUnit(height, heightUnit, 'm') ** 2
}

/** The body-mass index of weight and height; undefined unless both are valid. */
export function bmiFromValues(values: Values): number | undefined {
  const kilograms = toOwnUnit(weightQuantity, values.weight, values.weightUnit)
  const centimetres = toOwnUnit(heightQuantity, values.height, values.heightUnit)
  return kilograms === undefined || centimetres === undefined
    ? undefined
    : bmiFromWeightAndHeight(kilograms, 'kg', centimetres, 'cm')
}

/** The WHO category of an adult's BMI; each begins at its lower bound. Not for people under 20. */
export const adultCategoryOf = (bmi: number): AdultCategory =>
  ADULT_CATEGORIES.find(([below]) => bmi < below)?.[1] ?? 'obese-3'

/** The WHO's adult categories apply from this age. */
const MIN_ADULT_AGE_YEARS = 20

export const isAdult = (age: number): boolean => age >= MIN_ADULT_AGE_YEARS

/** The violations that the schema cannot find: units and ranges. */
export const bmiViolations = (params: BmiParams): Violation[] => [
  ...quantityViolations(weightQuantity, 'weight', params.weight, params.weightUnit),
  ...quantityViolations(heightQuantity, 'height', params.height, params.heightUnit),
  ...quantityViolations(bodyMassIndex, 'bmi', bmiFromValues(params), bodyMassIndex.unit),
]

/** The BMI with 1 decimal and its adult category; no category if the stated age is under 20. */
export function calculateBmi({ weight, weightUnit, height, heightUnit, age }: BmiParams): BmiResult {
  const value = bmiFromWeightAndHeight(weight, weightUnit, height, heightUnit)
  const adult = age === undefined || isAdult(age)
  return {
    bmi: roundTo(value, 1),
    unit: 'kg/m2',
    category: adult ? adultCategoryOf(value) : null,
    classification: adult ? 'who-adult' : null,
  }
}
