import type { Fraction } from '../../../schemas/fraction.ts'
import type { BmiParams, BmiResult } from '../../../schemas/measurements/bmi.ts'
import { convertExactly } from '../../../schemas/measurements/units.ts'
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
  unit: 'kg/m2',
  alertFrom: 2,
  bands: ADULT_CATEGORIES.map(([lt, code, severity], i) => ({
    code,
    label: code.replace(/^./, (first) => first.toUpperCase()).replace('-', ' '),
    severity,
    bmi: { gte: ADULT_CATEGORIES[i - 1]?.[0] ?? 0, lt },
  })),
}

/** The exact body-mass index in kg/m2. */
function bmiFromWeightAndHeight(
  weight: number | Fraction,
  weightUnit: string,
  height: number | Fraction,
  heightUnit: string,
): Fraction {
  const metres = convertExactly(height, heightUnit, 'm')
  return convertExactly(weight, weightUnit, 'kg').dividedBy(metres.times(metres))
}

/** The body-mass index of weight and height; undefined unless both are valid. */
export function bmiFromValues(values: Values): Fraction | undefined {
  const kilograms = toOwnUnit(weightQuantity, values.weight, values.weightUnit)
  const centimetres = toOwnUnit(heightQuantity, values.height, values.heightUnit)
  return kilograms === undefined || centimetres === undefined || centimetres.compareTo(0) === 0
    ? undefined
    : bmiFromWeightAndHeight(kilograms, 'kg', centimetres, 'cm')
}

/** The WHO's adult categories apply from this age. */
const MIN_ADULT_AGE_YEARS = 20

/**
 * The WHO's category for adults, each from its lower bound; null if the stated age is under 20. The
 * specification's scoring has no age, so somebody whose age is unknown counts as an adult.
 */
export const adultCategoryOf = (bmi: Fraction, age?: unknown): AdultCategory | null =>
  typeof age === 'number' && age < MIN_ADULT_AGE_YEARS
    ? null
    : (ADULT_CATEGORIES.find(([below]) => bmi.compareTo(below) < 0)?.[1] ?? 'obese-3')

/** The violations that the schema cannot find: units and ranges. */
export const bmiViolations = (params: BmiParams): Violation[] => [
  ...quantityViolations(weightQuantity, 'weight', params.weight, params.weightUnit),
  ...quantityViolations(heightQuantity, 'height', params.height, params.heightUnit),
  ...quantityViolations(bodyMassIndex, 'bmi', bmiFromValues(params)?.toNumber(), bodyMassIndex.unit),
]

/** The BMI with 1 decimal and its adult category; no category if the stated age is under 20. */
export function calculateBmi({ weight, weightUnit, height, heightUnit, age }: BmiParams): BmiResult {
  const value = bmiFromWeightAndHeight(weight, weightUnit, height, heightUnit)
  const category = adultCategoryOf(value, age)
  return { bmi: value.round(1), unit: 'kg/m2', category, classification: category && 'who-adult' }
}
