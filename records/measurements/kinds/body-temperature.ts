import { Type } from '@sinclair/typebox'
import { quantity, unit } from '../../../schemas/common.ts'
import { ThermometerLocationEnum } from '../../../schemas/enum.ts'
import { measurement } from '../measurement.ts'
import { quantityViolations } from '../ranges.ts'

export const BodyTemperature = measurement({
  name: 'BodyTemperature',
  noun: 'body-temperature measurement',
  description: 'A body-temperature measurement',
  words: { en: 'body temperature', nl: 'lichaamstemperatuur' },
  fields: {
    temperature: quantity('Body temperature, in temperatureUnit: 20 to 46 Cel', 37.2),
    temperatureUnit: unit('temperature', 'Cel (or C), [degF] (or F), K'),
    location: Type.Optional(ThermometerLocationEnum),
    basal: Type.Optional(Type.Boolean({ description: 'Whether it was taken at rest, on waking' })),
  },
  rules: {
    together: ['temperature', 'temperatureUnit'],
    violations: (values) => quantityViolations('temperature', values.temperature, values.temperatureUnit),
  },
})
