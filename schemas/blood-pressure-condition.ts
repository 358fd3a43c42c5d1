import { type Static, Type } from '@sinclair/typebox'
import { closed, line, quantity, unit } from './common.ts'

const UNITS = 'mm[Hg] (or mmHg), kPa'

const bound = Type.Optional(Type.Number({ description: 'A bound, in the unit of the set' }))

const Bounds = Type.Object(
  { gt: bound, gte: bound, lt: bound, lte: bound },
  { additionalProperties: false, minProperties: 1, description: 'Bounds of a value; all must hold' },
)
export type Bounds = Static<typeof Bounds>

const Band = Type.Object(
  {
    code: line('What the condition is called'),
    label: line('The condition in words'),
    severity: Type.Number({ description: 'Bands are tried from the highest down; the first match wins' }),
    combine: Type.Unsafe<'any' | 'all'>({
      type: 'string',
      enum: ['any', 'all'],
      description: 'Whether one of the two values suffices, or both must match',
    }),
    systolic: Type.Optional(Bounds),
    diastolic: Type.Optional(Bounds),
  },
  { additionalProperties: false, description: 'One condition' },
)
export type Band = Static<typeof Band>

export const ThresholdSet = closed('ThresholdSet', "A caller's own set of conditions", {
  name: line('Name of the set'),
  unit: unit('the bounds', UNITS),
  bands: Type.Array(Band, { minItems: 1, maxItems: 20, description: 'The conditions, in any order' }),
})
export type ThresholdSet = Static<typeof ThresholdSet>

const limit = (description: string) => Type.Optional(quantity(description))

export const Limits = Type.Object(
  {
    systolicLow: limit('Below it systolic is low'),
    systolicHigh: limit('Above it systolic is high'),
    diastolicLow: limit('Below it diastolic is low'),
    diastolicHigh: limit('Above it diastolic is high'),
    unit: unit('the limits', UNITS),
  },
  {
    $id: 'Limits',
    additionalProperties: false,
    minProperties: 2,
    description: 'Limits of a person; a value on one is still normal, and high outweighs low',
  },
)
export type Limits = Static<typeof Limits>

const PRESET_NAMES = ['aha2017', 'esc2018', 'esc2024'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

export const Preset = Type.Unsafe<PresetName>({
  $id: 'Preset',
  type: 'string',
  enum: PRESET_NAMES,
  description: 'Published thresholds',
})

export const ConditionParams = closed(
  'ConditionParams',
  'Parameters of the function bloodPressureCondition',
  {
    systolic: quantity('Systolic pressure, in unit: 40 to 300 mmHg', 128),
    diastolic: quantity('Diastolic pressure, in unit: 20 to 200 mmHg, below systolic', 82),
    unit: unit('both pressures', UNITS),
    thresholds: Type.Unsafe<PresetName | Limits | ThresholdSet>({
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
