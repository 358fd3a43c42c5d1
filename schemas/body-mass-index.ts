import { type Static, Type } from '@sinclair/typebox'
import { quantity, unit } from './common.ts'
import { measurement, measurementCreate, measurementUpdate } from './measurement.ts'

export const BodyMassIndex = measurement(
  'BodyMassIndex',
  'A body-mass index: weight and height, of which the service calculates it; or the bmi that a device told',
  {
    weight: Type.Optional(quantity('Body weight, in weightUnit: 0.3 to 650 kg')),
    weightUnit: Type.Optional(unit('weight', 'kg, g, [lb_av] (or lb)')),
    height: Type.Optional(quantity('Body height, in heightUnit: 20 to 275 cm')),
    heightUnit: Type.Optional(unit('height', 'cm, m, [in_i] (or in)')),
    bmi: Type.Optional(quantity('Body-mass index, in kg/m2: 5 to 200')),
  },
)
export type BodyMassIndex = Static<typeof BodyMassIndex>

export const BodyMassIndexCreate = measurementCreate(BodyMassIndex, 'BodyMassIndexCreate')
export const BodyMassIndexUpdate = measurementUpdate(BodyMassIndex, 'BodyMassIndexUpdate')
