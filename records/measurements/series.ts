import type { Coding } from '../../schemas/coding.ts'
import type { Quantity } from './quantities/quantity.ts'

/** A line in the graph: one value of each record, in one unit. A plan's thresholds limit it, too. */
export interface Series {
  /** The heading: `Systolic pressure`. */
  label: string
  /** The stored field of the value; `anxiety.score` is one inside an object. */
  field: string
  /** As UCUM code; `{score}` for points. */
  unit: string
  /** Series of one axis share its scale. */
  axis: string
  /** The possible values. */
  range: readonly [min: number, max: number]
  /** The usual range; without it, and without a preset, the graph has no bands. */
  usual?: readonly [min: number, max: number] | undefined
  /** LOINC code. */
  code?: string
}

/** The series of a quantity. */
export const seriesOf = ({ label, inUnit, unit, kind, hard, warn, codes }: Quantity): Series => ({
  label,
  field: inUnit,
  unit,
  axis: kind,
  range: hard,
  usual: warn,
  code: codes.loinc,
})

const UNIT_LABELS: Readonly<Record<string, string>> = {
  'mm[Hg]': 'mmHg',
  Cel: '°C',
  'kg/m2': 'kg/m²',
  '/min': 'per minute',
  '{score}': 'points',
}

/** A unit in its usual spelling. */
export const unitLabel = (unit: string): string => UNIT_LABELS[unit] ?? unit

export const loincCoding = (code: string): Coding => ({ system: 'http://loinc.org', code })

/** The value of a record in a series; undefined if it has none. */
export function seriesValueOf({ field }: Series, record: object): number | undefined {
  const value = field.split('.').reduce<unknown>((inner, name) => (inner as never)?.[name], record)
  return typeof value === 'number' ? value : undefined
}
