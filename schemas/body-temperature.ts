import { type Static, Type } from '@sinclair/typebox'
import { quantity, unit } from './common.ts'
import { ThermometerLocationEnum } from './enum.ts'
import { measurement, measurementCreate, measurementUpdate } from './measurement.ts'

export const BodyTemperature = measurement('BodyTemperature', 'A body-temperature measurement', {
  temperature: quantity('Body temperature, in temperatureUnit: 20 to 46 Cel', 37.2),
  temperatureUnit: unit('temperature', 'Cel (or C), [degF] (or F), K'),
  location: Type.Optional(ThermometerLocationEnum),
  basal: Type.Optional(Type.Boolean({ description: 'Whether it was taken at rest, on waking' })),
})
export type BodyTemperature = Static<typeof BodyTemperature>

export const BodyTemperatureCreate = measurementCreate(BodyTemperature, 'BodyTemperatureCreate')
export const BodyTemperatureUpdate = measurementUpdate(BodyTemperature, 'BodyTemperatureUpdate')
