import { Type } from '@sinclair/typebox'
import { ThermometerLocationEnum } from '../../../schemas/enum.ts'
import { derived } from '../../../schemas/forms/fields.ts'
import type { Band, Bounds } from '../../../schemas/thresholds.ts'
import { bandOf, type Preset } from '../calculations/thresholds.ts'
import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { inOwnUnit, type Quantity, unitValue } from '../quantities/quantity.ts'

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
const PLACES: Readonly<Record<string, string>> = {
  oral: 'oral',
  ear: 'tympanic',
  axillary: 'axillary',
  rectal: 'rectal',
  forehead: 'forehead',
  'temporal-artery': 'temporal artery',
  vaginal: 'vagina',
}

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
    band: derived(
      Type.Optional(
        Type.String({ description: 'low, normal, elevated, fever or very-high', examples: ['normal'] }),
      ),
    ),
  },
  omh: omh('body-temperature', '4.0', (record) => ({
    body_temperature: unitValue(temperature, 'temperature', record),
    measurement_location: PLACES[String(record.location)],
    temporal_relationship_to_sleep: record.basal === true ? 'on waking' : undefined,
  })),
  rules: {
    derived: (values) => {
      const celsius = inOwnUnit(temperature, values.temperature, values.temperatureUnit)
      if (celsius === undefined) return {}
      return { band: bandOf(fever, ['temperature'], { temperature: celsius })?.code }
    },
  },
})
