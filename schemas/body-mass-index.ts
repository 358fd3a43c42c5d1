import { type Static, Type } from '@sinclair/typebox'
import { quantity, unit } from './common.ts'
import { measurement, measurementCreate, measurementUpdate } from './measurement.ts'

export const BodyMassIndex = measurement(
  'BodyMassIndex',
  'A body-mass index: weight and height, of which the service calculates it; or the bmi that a device told',
  {
    weight: Type.Optional(quantity('Body weight, in weightUnit: 0.3 to 650 kg', 72.5)),
    weightUnit: Type.Optional(unit('weight', 'kg, g, [lb_av] (or lb)')),
    height: Type.Optional(quantity('Body height, in heightUnit: 20 to 275 cm', 178)),
    heightUnit: Type.Optional(unit('height', 'cm, m, [in_i] (or in)')),
    bmi: Type.Optional(quantity('Body-mass index, in kg/m2: 5 to 200', 22.9)),
  },
)
export type BodyMassIndex = Static<typeof BodyMassIndex>

/** Without the bmi, which follows. */
const body = { weight: 72.5, weightUnit: 'kg', height: 178, heightUnit: 'cm' }
const timestamp = { __type: 'Date', iso: '2026-03-01T08:30:00Z' }

export const BodyMassIndexCreate = measurementCreate(BodyMassIndex, 'BodyMassIndexCreate', [
  { carePlanId: 'hFHaffgJUl', timestamp, ...body },
])
export const BodyMassIndexUpdate = measurementUpdate(BodyMassIndex, 'BodyMassIndexUpdate', [body])
