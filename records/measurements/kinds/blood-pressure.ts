import { Type } from '@sinclair/typebox'
import { quantity, unit } from '../../../schemas/common.ts'
import { CuffLocationEnum, CuffSizeEnum, PositionEnum, PressureMethodEnum } from '../../../schemas/enum.ts'
import { measurement } from '../measurement.ts'
import { diastolicViolations, quantityViolations } from '../ranges.ts'
import { allOrNone } from '../together.ts'

export const BloodPressure = measurement({
  name: 'BloodPressure',
  noun: 'blood-pressure measurement',
  description: 'A blood-pressure measurement',
  words: { en: 'blood pressure', nl: 'bloeddruk' },
  fields: {
    systolic: quantity('Systolic pressure, in systolicUnit: 40 to 300 mmHg', 128),
    systolicUnit: unit('systolic', 'mm[Hg] (or mmHg), kPa'),
    diastolic: Type.Optional(
      quantity('Diastolic pressure, in diastolicUnit: 20 to 200 mmHg, below systolic', 82),
    ),
    diastolicUnit: Type.Optional(unit('diastolic', 'mm[Hg] (or mmHg), kPa')),
    heartRate: Type.Optional(Type.Number({ minimum: 10, maximum: 400, description: 'Beats per minute' })),
    position: Type.Optional(PositionEnum),
    location: Type.Optional(CuffLocationEnum),
    cuffSize: Type.Optional(CuffSizeEnum),
    method: Type.Optional(PressureMethodEnum),
  },
  rules: {
    together: ['systolic', 'systolicUnit', 'diastolic', 'diastolicUnit'],
    missing: (values) => allOrNone(values, ['diastolic', 'diastolicUnit']),
    violations: (values) => [
      ...quantityViolations('systolic', values.systolic, values.systolicUnit),
      ...quantityViolations('diastolic', values.diastolic, values.diastolicUnit),
      ...diastolicViolations(values),
    ],
  },
})
