import { namedLoincCode } from '../fhir/loinc-names.ts'
import { quantityObservation } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { constantMember, defineOmhBody, quantityMember } from '../omh.ts'
import type { Quantity } from '../quantities/quantity.ts'

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

export const OxygenSaturation = defineMeasurement({
  name: 'OxygenSaturation',
  path: 'oxygensaturation',
  noun: 'oxygen-saturation measurement',
  description: 'An oxygen saturation, by pulse oximetry',
  words: { en: 'oxygen saturation', nl: 'zuurstofsaturatie' },
  quantities: { oxygenSaturation },
  fhir: quantityObservation('oxygenSaturation', oxygenSaturation, {
    profile: 'oxygensat',
    // The profile demands this code, whatever the method.
    codes: [namedLoincCode('2708-6')],
  }),
  omh: defineOmhBody('oxygen-saturation', '2.0', {
    oxygen_saturation: quantityMember(oxygenSaturation, 'oxygenSaturation'),
    system: constantMember('peripheral capillary'),
    measurement_method: constantMember('pulse oximetry'),
  }),
})
