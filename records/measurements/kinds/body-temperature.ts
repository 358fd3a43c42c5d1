import { Type } from '@sinclair/typebox'
import { ThermometerLocationEnum } from '../../../schemas/enum.ts'
import { derivedText } from '../../../schemas/forms/fields.ts'
import type { Band, Bounds } from '../../../schemas/thresholds.ts'
import { bandOf, type Preset } from '../calculations/thresholds.ts'
import { measurement } from '../measurement.ts'
import { measured, omh, worded } from '../omh.ts'
import { inOwnUnit, type Quantity } from '../quantities/quantity.ts'

export const temperature: Quantity = {
  label: 'Body temperature',
  kind: 'temperature',
  unit: 'Cel',
  inUnit: 'temperatureCel',
  hard: [20, 46],
  warn: [32, 42],
  example: 37.2,
  codes: { loinc: '8310-5', snomed: '386725007' },
}

const band = (severity: number, code: string, label: string, bounds: Bounds): Band<'temperature'> => ({
  ...{ severity, code, label },
  temperature: bounds,
})

/** Sites are never converted into each other. */
const fever: Preset<'temperature'> = {
  ...{ unit: 'Cel', alertFrom: 2 },
  bands: [
    band(0, 'normal', 'Normal', { gte: 35, lt: 37.5 }),
    band(1, 'elevated', 'Elevated', { gte: 37.5, lt: 38 }),
    band(2, 'low', 'Low', { lt: 35 }),
    band(3, 'fever', 'Fever', { gte: 38, lt: 41 }),
    band(4, 'very-high', 'Very high', { gte: 41 }),
  ],
}

/** In the words of Open mHealth, which has none for the others. */
const PLACES = new Map([
  ['oral', 'oral'],
  ['ear', 'tympanic'],
  ['axillary', 'axillary'],
  ['rectal', 'rectal'],
  ['forehead', 'forehead'],
  ['temporal-artery', 'temporal artery'],
  ['vaginal', 'vagina'],
])

export const BodyTemperature = measurement({
  name: 'BodyTemperature',
  path: 'bodytemperature',
  noun: 'body-temperature measurement',
  description: 'A body-temperature measurement',
  words: { en: 'body temperature', nl: 'lichaamstemperatuur' },
  specified: ['list', 'add'],
  quantities: { temperature },
  presets: { fever },
  summary: 'band',
  fields: {
    location: Type.Optional(ThermometerLocationEnum),
    basal: Type.Optional(Type.Boolean({ description: 'Whether it was taken at rest, on waking' })),
    band: derivedText('low, normal, elevated, fever or very-high', 'normal'),
  },
  omh: omh('body-temperature', '4.0', {
    body_temperature: measured(temperature, 'temperature'),
    measurement_location: worded('location', PLACES),
    temporal_relationship_to_sleep: worded('basal', new Map([[true, 'on waking']])),
  }),
  rules: {
    derived: (values) => {
      const celsius = inOwnUnit(temperature, values.temperature, values.temperatureUnit)
      if (celsius === undefined) return {}
      return { band: bandOf(fever, ['temperature'], { temperature: celsius })?.code }
    },
  },
})
