import { measurement } from '../measurement.ts'
import { measured, omh } from '../omh.ts'
import { weight } from '../quantities/quantities.ts'

export const BodyWeight = measurement({
  name: 'BodyWeight',
  path: 'bodyweight',
  noun: 'body-weight measurement',
  description: 'A body-weight measurement',
  words: { en: 'body weight', nl: 'lichaamsgewicht' },
  quantities: { weight },
  omh: omh('body-weight', '3.0', { body_weight: measured(weight, 'weight') }),
})
