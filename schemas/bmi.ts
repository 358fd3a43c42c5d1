import { type Static, Type } from '@sinclair/typebox'
import { closed, quantity, unit } from './common.ts'

export const BmiParams = closed('BmiParams', 'Parameters of the function bmi', {
  weight: quantity('Body weight, in weightUnit: 0.3 to 650 kg', 72.5),
  weightUnit: unit('weight', 'kg, g, [lb_av] (or lb)'),
  height: quantity('Body height, in heightUnit: 20 to 275 cm', 178),
  heightUnit: unit('height', 'cm, m, [in_i] (or in)'),
  age: Type.Optional(
    Type.Number({ minimum: 0, maximum: 150, description: 'Age in years, when it is known' }),
  ),
})
export type BmiParams = Static<typeof BmiParams>

export const BmiResult = closed('BmiResult', 'A body-mass index', {
  bmi: Type.Number({ description: 'With 1 decimal, in kg/m2', examples: [22.9] }),
  unit: Type.Literal('kg/m2', { description: 'Unit, as UCUM code' }),
  category: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'By the unrounded BMI; null for somebody under 20',
    examples: ['normal'],
  }),
  classification: Type.Unsafe<'who-adult' | null>({
    enum: ['who-adult', null],
    description: 'The table that the category comes from: that of the WHO for adults',
  }),
})
export type BmiResult = Static<typeof BmiResult>
