import { type Static, Type } from '@sinclair/typebox'
import { closedObject, quantityField } from '../common.ts'
import { unitField, widestRange } from './units.ts'

export const BmiParams = closedObject('BmiParams', 'Parameters of the function bmi', {
  weight: {
    ...quantityField('Body weight, in weightUnit: 0.3 to 650 kg', 72.5),
    documented: widestRange('kg', [0.3, 650]),
  },
  weightUnit: unitField('weight', 'mass'),
  height: {
    ...quantityField('Body height, in heightUnit: 20 to 275 cm', 178),
    documented: widestRange('cm', [20, 275]),
  },
  heightUnit: { ...unitField('height', 'length'), examples: ['cm'] },
  age: Type.Optional(Type.Number({ minimum: 0, maximum: 150, description: 'Age in years, if known' })),
})
export type BmiParams = Static<typeof BmiParams>

export const BmiResult = closedObject('BmiResult', 'A body-mass index', {
  bmi: Type.Number({ description: 'Body-mass index in kg/m2, with 1 decimal', examples: [22.9] }),
  unit: Type.Literal('kg/m2', { description: 'Unit, as UCUM code' }),
  category: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Category by the unrounded BMI; null for people under 20',
    examples: ['normal'],
  }),
  classification: Type.Unsafe<'who-adult' | null>({
    enum: ['who-adult', null],
    description: 'Table of the category: that of the WHO for adults',
  }),
})
export type BmiResult = Static<typeof BmiResult>
