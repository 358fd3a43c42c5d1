import { quantityObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { defineOmhBody, quantityMember } from '../omh.ts'
import { heartRate } from '../quantities/quantities.ts'

export const HeartRate = defineMeasurement({
  name: 'HeartRate',
  path: 'heartrate',
  noun: 'heart-rate measurement',
  description: 'A heart-rate measurement',
  words: { en: 'heart rate', nl: 'hartslag' },
  quantities: { heartRate },
  fhir: quantityObservation('heartRate', heartRate, { profile: 'heartrate' }),
  omh: defineOmhBody('heart-rate', '2.0', { heart_rate: quantityMember(heartRate, 'heartRate') }),
})
