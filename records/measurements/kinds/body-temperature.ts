import { Type } from '@sinclair/typebox'
import { ThermometerLocationEnum } from '../../../schemas/enums.ts'
import { derivedTextField } from '../../../schemas/forms/fields.ts'
import type { Band, Bounds } from '../../../schemas/measurements/thresholds.ts'
import { conceptElement, extensionElement, ownUri } from '../../fhir/elements.ts'
import { findBand, type ThresholdPreset } from '../calculations/thresholds.ts'
import { quantityObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { codedMember, defineOmhBody, quantityMember } from '../omh.ts'
import { type Quantity, toOwnUnit } from '../quantities/quantity.ts'

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

const temperatureBand = (
  severity: number,
  code: string,
  label: string,
  bounds: Bounds,
): Band<'temperature'> => ({
  severity,
  code,
  label,
  temperature: bounds,
})

/** Temperatures are never converted from one site to another. */
const feverPreset: ThresholdPreset<'temperature'> = {
  unit: 'Cel',
  alertFrom: 2,
  bands: [
    temperatureBand(0, 'normal', 'Normal', { gte: 35, lt: 37.5 }),
    temperatureBand(1, 'elevated', 'Elevated', { gte: 37.5, lt: 38 }),
    temperatureBand(2, 'low', 'Low', { lt: 35 }),
    temperatureBand(3, 'fever', 'Fever', { gte: 38, lt: 41 }),
    temperatureBand(4, 'very-high', 'Very high', { gte: 41 }),
  ],
}

/** The sites as Open mHealth calls them; it has no words for the others. */
const OMH_LOCATIONS = new Map([
  ['oral', 'oral'],
  ['ear', 'tympanic'],
  ['axillary', 'axillary'],
  ['rectal', 'rectal'],
  ['forehead', 'forehead'],
  ['temporal-artery', 'temporal artery'],
  ['vaginal', 'vagina'],
])

export const BodyTemperature = defineMeasurement({
  name: 'BodyTemperature',
  path: 'bodytemperature',
  noun: 'body-temperature measurement',
  description: 'A body-temperature measurement',
  words: { en: 'body temperature', nl: 'lichaamstemperatuur' },
  specified: ['list', 'add'],
  quantities: { temperature },
  fhir: quantityObservation('temperature', temperature, {
    profile: 'bodytemp',
    elements: [
      conceptElement('location', 'bodySite', ownUri('thermometer-location')),
      extensionElement('basal', ownUri('basal'), 'valueBoolean'),
    ],
  }),
  presets: { fever: feverPreset },
  summary: 'band',
  fields: {
    location: Type.Optional(ThermometerLocationEnum),
    basal: Type.Optional(Type.Boolean({ description: 'True if measured at rest, on waking' })),
    band: derivedTextField('Category: low, normal, elevated, fever or very-high', 'normal'),
  },
  omh: defineOmhBody('body-temperature', '4.0', {
    body_temperature: quantityMember(temperature, 'temperature'),
    measurement_location: codedMember('location', OMH_LOCATIONS),
    temporal_relationship_to_sleep: codedMember('basal', new Map([[true, 'on waking']])),
  }),
  rules: {
    derived: (values) => {
      const celsius = toOwnUnit(temperature, values.temperature, values.temperatureUnit)
      if (celsius === undefined) return {}
      return { band: findBand(feverPreset, ['temperature'], { temperature: celsius })?.code }
    },
  },
})
