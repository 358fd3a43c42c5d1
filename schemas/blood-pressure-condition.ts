import { type Static, Type } from '@sinclair/typebox'
import { closed, quantity, unit } from './common.ts'
import type { Limits, ThresholdSet } from './thresholds.ts'

const UNITS = 'mm[Hg] (or mmHg), kPa'

export type PresetName = 'aha2017' | 'esc2018' | 'esc2024'

type Name = 'systolic' | 'diastolic'

export const ConditionParams = closed(
  'ConditionParams',
  'Parameters of the function bloodPressureCondition',
  {
    systolic: quantity('Systolic pressure, in unit: 40 to 300 mmHg', 128),
    diastolic: quantity('Diastolic pressure, in unit: 20 to 200 mmHg, below systolic', 82),
    unit: unit('both pressures', UNITS),
    thresholds: Type.Unsafe<PresetName | Limits<Name> | ThresholdSet<Name>>({
      description: 'Published thresholds by name, limits of a person, or conditions of your own',
    }),
  },
)
export type ConditionParams = Static<typeof ConditionParams>

export interface ConditionResult {
  /** The code of the band that matched, or `unclassified`. */
  condition: string
  label: string
  severity: number | null
  /** Systolic at least 140 mmHg while diastolic stays below 90. */
  isolatedSystolic: boolean
  /** The name of the thresholds that were used. */
  thresholdSet: string
  /** Both pressures in mmHg, with 2 decimals. */
  normalised: { systolic: number; diastolic: number; unit: 'mm[Hg]' }
}
