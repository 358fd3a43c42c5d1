import { measurement } from '../measurement.ts'

export const OxygenSaturation = measurement({
  name: 'OxygenSaturation',
  noun: 'oxygen-saturation measurement',
  description: 'An oxygen saturation, by pulse oximetry',
  words: { en: 'oxygen saturation', nl: 'zuurstofsaturatie' },
  quantities: {
    oxygenSaturation: {
      label: 'Oxygen saturation',
      kind: 'fraction',
      unit: '%',
      inUnit: 'oxygenSaturationPercent',
      hard: [40, 100],
      warn: [88, 100],
      example: 97,
      codes: { loinc: '59408-5', snomed: '431314004' },
    },
  },
})
