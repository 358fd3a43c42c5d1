import { measurement } from '../measurement.ts'
import { weight } from '../quantities.ts'

export const BodyWeight = measurement({
  name: 'BodyWeight',
  noun: 'body-weight measurement',
  description: 'A body-weight measurement',
  words: { en: 'body weight', nl: 'lichaamsgewicht' },
  quantities: { weight },
})
