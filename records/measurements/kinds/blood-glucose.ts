import { quantityObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { defineOmhBody, quantityMember } from '../omh.ts'
import type { Quantity } from '../quantities/quantity.ts'

const bloodGlucose: Quantity = {
  label: 'Blood glucose',
  kind: 'glucose',
  unit: 'mmol/L',
  inUnit: 'bloodGlucoseMmolL',
  hard: [0.5, 60],
  warn: [3, 20],
  example: 5.4,
  codes: { loinc: '15074-8', loincByUnit: { 'mg/dL': '2339-0' }, snomed: '33747003' },
}

export const BloodGlucose = defineMeasurement({
  name: 'BloodGlucose',
  path: 'bloodglucose',
  noun: 'blood-glucose measurement',
  description: 'A blood-glucose measurement',
  words: { en: 'blood glucose', nl: 'bloedglucose' },
  quantities: { bloodGlucose },
  fhir: quantityObservation('bloodGlucose', bloodGlucose, { category: 'laboratory' }),
  omh: defineOmhBody('blood-glucose', '4.0', { blood_glucose: quantityMember(bloodGlucose, 'bloodGlucose') }),
})
