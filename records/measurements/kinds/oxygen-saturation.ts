import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { type Quantity, unitValue } from '../quantities/quantity.ts'

const oxygenSaturation: Quantity = {
  label: 'Oxygen saturation',
  kind: 'fraction',
  unit: '%',
  inUnit: 'oxygenSaturationPercent',
  hard: [40, 100],
  warn: [88, 100],
  example: 97,
  codes: { loinc: '59408-5', snomed: '431314004' },
}

export const OxygenSaturation = measurement({
  name: 'OxygenSaturation',
  path: 'oxygensaturation',
  noun: 'oxygen-saturation measurement',
  description: 'An oxygen saturation, by pulse oximetry',
  words: { en: 'oxygen saturation', nl: 'zuurstofsaturatie' },
  quantities: { oxygenSaturation },
  omh: omh('oxygen-saturation', '2.0', (record) => ({
    oxygen_saturation: unitValue(oxygenSaturation, 'oxygenSaturation', record),
    system: 'peripheral capillary',
    measurement_method: 'pulse oximetry',
  })),
})
