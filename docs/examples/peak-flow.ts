import { Type } from '@sinclair/typebox'
import { defineMeasurement } from '../../records/measurements/measurement.ts'
import { quantityField } from '../../schemas/common.ts'
import { derivedField } from '../../schemas/forms/fields.ts'
import { roundTo } from '../../schemas/measurements/units.ts'

// records/measurements/kinds/peak-flow.ts, and a line in `classKinds` of records/kinds.ts
export const PeakFlow = defineMeasurement({
  name: 'PeakFlow',
  path: 'airflow',
  noun: 'peak-flow measurement',
  description: 'A measurement of the peak expiratory flow',
  words: { en: 'peak flow', nl: 'piekstroom' },
  fhir: { absent: 'Not mapped to FHIR yet' },
  series: {
    peakFlow: {
      label: 'Peak flow',
      field: 'peakFlow',
      unit: 'L/min',
      axis: 'flow',
      range: [0, 900],
      code: '33452-4',
    },
  },
  fields: {
    peakFlow: quantityField('Peak expiratory flow, in L/min', 420),
    personalBest: Type.Optional(quantityField('The best that the person ever reached, in L/min', 500)),
    percentOfBest: derivedField(Type.Optional(Type.Number({ description: 'Of the personal best, in %' }))),
  },
  rules: {
    dependentFields: ['peakFlow', 'personalBest'],
    violations: ({ peakFlow, personalBest }) =>
      Object.entries({ peakFlow, personalBest: personalBest ?? peakFlow }).flatMap(([path, value]) =>
        Number(value) > 0 && Number(value) <= 900
          ? []
          : [{ path, code: 'range', message: 'must be above 0 and at most 900 L/min' }],
      ),
    derived: ({ peakFlow, personalBest }) =>
      typeof personalBest === 'number'
        ? { percentOfBest: roundTo((100 * Number(peakFlow)) / personalBest, 0) }
        : {},
  },
})
