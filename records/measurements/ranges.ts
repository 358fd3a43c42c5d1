import type { Violation } from '../../schemas/violation.ts'
import { convert, isUnitOf, type Kind, unitNames } from './units.ts'

interface Range {
  kind: Kind
  /** The unit of the bounds; values in other units are converted before they are compared. */
  unit: string
  min: number
  max: number
}

/** Outside of these a value is a slip of the pen or of the device, not a measurement. */
const RANGES = {
  systolic: { kind: 'pressure', unit: 'mm[Hg]', min: 40, max: 300 },
  diastolic: { kind: 'pressure', unit: 'mm[Hg]', min: 20, max: 200 },
  bmi: { kind: 'bodyMassIndex', unit: 'kg/m2', min: 5, max: 200 },
  temperature: { kind: 'temperature', unit: 'Cel', min: 20, max: 46 },
  weight: { kind: 'mass', unit: 'kg', min: 0.3, max: 650 },
  height: { kind: 'length', unit: 'cm', min: 20, max: 275 },
} as const satisfies Record<string, Range>

export type Quantity = keyof typeof RANGES

/**
 * What is wrong with a quantity and its unit; nothing when one of the two is not there to be judged.
 * The unit is `unitProperty`; the value is checked after conversion, and stays as it was given.
 */
export function quantityViolations(
  quantity: Quantity,
  value: unknown,
  unitName: unknown,
  unitProperty = `${quantity}Unit`,
): Violation[] {
  if (typeof unitName !== 'string') return []
  const { kind, unit, min, max } = RANGES[quantity]
  if (!isUnitOf(kind, unitName))
    return [{ path: unitProperty, code: 'unit', message: `must be one of ${unitNames(kind).join(', ')}` }]
  if (typeof value !== 'number' || !Number.isFinite(value)) return []
  const converted = convert(value, unitName, unit)
  // A bound that was converted into another unit and back must still be inside.
  const slack = 1e-9 * max
  return converted >= min - slack && converted <= max + slack
    ? []
    : [{ path: quantity, code: 'range', message: `must lie between ${min} and ${max} ${unit}` }]
}

/** Whether both are finite numbers in a known unit and diastolic is not below systolic. */
export function diastolicViolations(values: {
  systolic?: unknown
  systolicUnit?: unknown
  diastolic?: unknown
  diastolicUnit?: unknown
}): Violation[] {
  const systolic = inMmHg(values.systolic, values.systolicUnit)
  const diastolic = inMmHg(values.diastolic, values.diastolicUnit)
  if (systolic === undefined || diastolic === undefined || diastolic < systolic) return []
  return [{ path: 'diastolic', code: 'order', message: 'must be below systolic' }]
}

const inMmHg = (value: unknown, unit: unknown): number | undefined =>
  typeof value === 'number' &&
  Number.isFinite(value) &&
  typeof unit === 'string' &&
  isUnitOf('pressure', unit)
    ? convert(value, unit, 'mm[Hg]')
    : undefined
