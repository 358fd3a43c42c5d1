import type { Violation } from '../../../schemas/validation/violations.ts'
import { type Quantity, toOwnUnit } from './quantity.ts'

/** Quantities shared by several kinds of measurement and calculations. Sources: LOINC, SNOMED CT, UCUM. */
export const systolic: Quantity = {
  label: 'Systolic pressure',
  kind: 'pressure',
  unit: 'mm[Hg]',
  inUnit: 'systolicMmHg',
  hard: [40, 300],
  warn: [70, 250],
  example: 128,
  codes: { loinc: '8480-6', snomed: '271649006' },
}

export const diastolic: Quantity = {
  label: 'Diastolic pressure',
  kind: 'pressure',
  unit: 'mm[Hg]',
  inUnit: 'diastolicMmHg',
  hard: [20, 200],
  warn: [35, 150],
  example: 82,
  codes: { loinc: '8462-4', snomed: '271650006' },
}

export const heartRate: Quantity = {
  label: 'Heart rate',
  kind: 'frequency',
  unit: '/min',
  inUnit: 'heartRatePerMin',
  hard: [20, 300],
  warn: [40, 180],
  example: 72,
  codes: { loinc: '8867-4', snomed: '364075005' },
}

export const weight: Quantity = {
  label: 'Body weight',
  kind: 'mass',
  unit: 'kg',
  inUnit: 'weightKg',
  hard: [0.3, 650],
  example: 72.5,
  codes: { loinc: '29463-7', snomed: '363808001' },
}

export const height: Quantity = {
  label: 'Body height',
  kind: 'length',
  unit: 'cm',
  inUnit: 'heightCm',
  hard: [20, 275],
  example: 178,
  codes: { loinc: '8302-2', snomed: '50373000' },
}

export const bodyMassIndex: Quantity = {
  label: 'Body-mass index',
  kind: 'bodyMassIndex',
  unit: 'kg/m2',
  inUnit: 'bmi',
  hard: [5, 200],
  warn: [10, 80],
  example: 22.9,
  codes: { loinc: '39156-5', snomed: '60621009' },
}

/** A violation only if both are finite numbers in a known unit and diastolic is not below systolic. */
export function diastolicViolations(values: {
  systolic?: unknown
  systolicUnit?: unknown
  diastolic?: unknown
  diastolicUnit?: unknown
}): Violation[] {
  const upper = toOwnUnit(systolic, values.systolic, values.systolicUnit)
  const lower = toOwnUnit(diastolic, values.diastolic, values.diastolicUnit)
  if (upper === undefined || lower === undefined || lower.compareTo(upper) < 0) return []
  return [{ path: 'diastolic', code: 'order', message: 'must be below systolic' }]
}
