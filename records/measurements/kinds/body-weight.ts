import { quantityObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { defineOmhBody, quantityMember } from '../omh.ts'
import { weight } from '../quantities/quantities.ts'

export const BodyWeight = defineMeasurement({
  name: 'BodyWeight',
  path: 'bodyweight',
  noun: 'body-weight measurement',
  description: 'A body-weight measurement',
  words: { en: 'body weight', nl: 'lichaamsgewicht' },
  quantities: { weight },
  fhir: quantityObservation('weight', weight, { profile: 'bodyweight' }),
  omh: defineOmhBody('body-weight', '3.0', { body_weight: quantityMember(weight, 'weight') }),
})
