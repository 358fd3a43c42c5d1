import { type Static, Type } from '@sinclair/typebox'
import { closedObject, quantityField } from '../common.ts'
import { documentThresholds, type PersonalLimits, type ThresholdSet } from './thresholds.ts'
import { unitField, unitNames, widestRange } from './units.ts'

const PRESSURE_PRESET_NAMES = ['aha2017', 'esc2018', 'esc2024'] as const
export type PressurePresetName = (typeof PRESSURE_PRESET_NAMES)[number]

type PressureName = 'systolic' | 'diastolic'

export const BloodPressureConditionParams = closedObject(
  'ConditionParams',
  'Parameters of the function bloodPressureCondition',
  {
    systolic: {
      ...quantityField('Systolic pressure, in unit: 40 to 300 mmHg', 128),
      documented: widestRange('mm[Hg]', [40, 300]),
    },
    diastolic: {
      ...quantityField('Diastolic pressure, in unit: 20 to 200 mmHg, below systolic', 82),
      documented: widestRange('mm[Hg]', [20, 200]),
    },
    unit: unitField('both pressures', 'pressure'),
    thresholds: Type.Unsafe<PressurePresetName | PersonalLimits<PressureName> | ThresholdSet<PressureName>>({
      documented: documentThresholds(['systolic', 'diastolic'], unitNames('pressure'), PRESSURE_PRESET_NAMES),
      description: 'Thresholds: the name of a published set, limits for a person, or your own bands',
      examples: ['esc2018'],
    }),
  },
)
export type BloodPressureConditionParams = Static<typeof BloodPressureConditionParams>

const pressureField = (noun: string, example: number) =>
  Type.Number({ description: `${noun} pressure in mmHg, with 2 decimals`, examples: [example] })

export const BloodPressureConditionResult = closedObject(
  'ConditionResult',
  'Classification of a blood pressure',
  {
    condition: Type.String({
      description: 'Code of the matching band, or `unclassified`',
      examples: ['normal'],
    }),
    label: Type.String({ description: 'Label of the band', examples: ['Normal'] }),
    severity: Type.Unsafe<number | null>({
      type: ['number', 'null'],
      description: 'Severity: higher is farther from normal; null for `unclassified`',
      examples: [1],
    }),
    isolatedSystolic: Type.Boolean({
      description: 'True if systolic is at least 140 mmHg and diastolic below 90',
      examples: [false],
    }),
    thresholdSet: Type.String({ description: 'Name of the applied thresholds', examples: ['esc2018'] }),
    normalised: Type.Object(
      {
        systolic: pressureField('Systolic', 128),
        diastolic: pressureField('Diastolic', 82),
        unit: Type.Literal('mm[Hg]', { description: 'Unit, as UCUM code' }),
      },
      { additionalProperties: false, description: 'Both pressures in one unit' },
    ),
  },
)
export type BloodPressureConditionResult = Static<typeof BloodPressureConditionResult>
