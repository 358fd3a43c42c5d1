import type { Coding } from '../../schemas/coding.ts'
import type { Quantity } from './quantities/quantity.ts'

/** A line in the graph: one value of each record, in one unit. Plans' thresholds bound it, too. */
export interface Series {
  /** As a heading: `Systolic pressure`. */
  label: string
  /** The stored field that holds the value; `anxiety.score` is one inside an object. */
  field: string
  /** As UCUM code; `{score}` for what is counted in points. */
  unit: string
  /** Series of one axis share its scale. */
  axis: string
  /** The values that there can be. */
  range: readonly [min: number, max: number]
  /** What is usual; without it, and without a preset, the graph has no bands. */
  usual?: readonly [min: number, max: number] | undefined
  /** LOINC. */
  code?: string
}

/** The series that a quantity is. */
export const seriesOf = ({ label, inUnit, unit, kind, hard, warn, codes }: Quantity): Series => ({
  ...{ label, field: inUnit, unit, axis: kind, range: hard, usual: warn, code: codes.loinc },
})

const LABELS: Readonly<Record<string, string>> = {
  'mm[Hg]': 'mmHg',
  Cel: '°C',
  'kg/m2': 'kg/m²',
  '/min': 'per minute',
  '{score}': 'points',
}

/** A unit as people write it. */
export const unitLabel = (unit: string): string => LABELS[unit] ?? unit

export const loinc = (code: string): Coding => ({ system: 'http://loinc.org', code })

/** The value of a record in a series; undefined when it has none. */
export function valueIn({ field }: Series, record: object): number | undefined {
  const value = field.split('.').reduce<unknown>((inner, name) => (inner as never)?.[name], record)
  return typeof value === 'number' ? value : undefined
}
