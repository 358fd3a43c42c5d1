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

export interface BmiResult {
  /** With 1 decimal, in kg/m2. */
  bmi: number
  unit: 'kg/m2'
  /** By the unrounded BMI. */
  category: string | null
  /** The table that the category comes from: WHO's for adults, which says nothing about people under 20. */
  classification: 'who-adult' | null
}
