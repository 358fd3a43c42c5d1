import { measurement } from '../measurement.ts'

export const BloodGlucose = measurement({
  name: 'BloodGlucose',
  noun: 'blood-glucose measurement',
  description: 'A blood-glucose measurement',
  words: { en: 'blood glucose', nl: 'bloedglucose' },
  quantities: {
    bloodGlucose: {
      label: 'Blood glucose',
      kind: 'glucose',
      unit: 'mmol/L',
      inUnit: 'bloodGlucoseMmolL',
      hard: [0.5, 60],
      warn: [3, 20],
      example: 5.4,
      codes: { loinc: '15074-8', snomed: '33747003' },
    },
  },
})
