import { Type } from '@sinclair/typebox'
import { ThermometerLocationEnum } from '../../../schemas/enum.ts'
import { derived } from '../../../schemas/forms/fields.ts'
import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { inOwnUnit, type Quantity, unitValue } from '../quantity.ts'

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

/** Each band ends below its bound; sites are never converted into each other. */
const BANDS = [
  [35, 'low'],
  [37.5, 'normal'],
  [38, 'elevated'],
  [41, 'fever'],
] as const

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
      return { band: BANDS.find(([below]) => celsius < below)?.[1] ?? 'very-high' }
    },
  },
})
