import { type Static, Type } from '@sinclair/typebox'
import { quantity, unit } from './common.ts'
import { CuffLocationEnum, CuffSizeEnum, PositionEnum, PressureMethodEnum } from './enum.ts'
import { measurement, measurementCreate, measurementUpdate } from './measurement.ts'

export const BloodPressure = measurement('BloodPressure', 'A blood-pressure measurement', {
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
})
export type BloodPressure = Static<typeof BloodPressure>

export const BloodPressureCreate = measurementCreate(BloodPressure, 'BloodPressureCreate')
export const BloodPressureUpdate = measurementUpdate(BloodPressure, 'BloodPressureUpdate')
