import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { weight } from '../quantities/quantities.ts'
import { unitValue } from '../quantities/quantity.ts'

export const BodyWeight = measurement({
  name: 'BodyWeight',
  path: 'bodyweight',
  noun: 'body-weight measurement',
  description: 'A body-weight measurement',
  words: { en: 'body weight', nl: 'lichaamsgewicht' },
  quantities: { weight },
  omh: omh('body-weight', '3.0', (record) => ({ body_weight: unitValue(weight, 'weight', record) })),
})
