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
      examples: ['esc2018'],
    }),
  },
)
export type ConditionParams = Static<typeof ConditionParams>

const pressure = (of: string, example: number) =>
  Type.Number({ description: `${of} pressure in mmHg, with 2 decimals`, examples: [example] })

export const ConditionResult = closed('ConditionResult', 'What a blood pressure means', {
  condition: Type.String({
    description: 'Code of the band that matched, or `unclassified`',
    examples: ['normal'],
  }),
  label: Type.String({ description: 'The condition in words', examples: ['Normal'] }),
  severity: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'The farther from normal, the larger; null for `unclassified`',
    examples: [1],
  }),
  isolatedSystolic: Type.Boolean({
    description: 'Systolic at least 140 mmHg while diastolic stays below 90',
    examples: [false],
  }),
  thresholdSet: Type.String({ description: 'Name of the thresholds that were used', examples: ['esc2018'] }),
  normalised: Type.Object(
    {
      systolic: pressure('Systolic', 128),
      diastolic: pressure('Diastolic', 82),
      unit: Type.Literal('mm[Hg]', { description: 'Unit, as UCUM code' }),
    },
    { additionalProperties: false, description: 'Both pressures in one unit' },
  ),
})
export type ConditionResult = Static<typeof ConditionResult>
