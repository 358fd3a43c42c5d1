import { measurement } from '../measurement.ts'
import { measured, omh } from '../omh.ts'
import { heartRate } from '../quantities/quantities.ts'

export const HeartRate = measurement({
  name: 'HeartRate',
  path: 'heartrate',
  noun: 'heart-rate measurement',
  description: 'A heart-rate measurement',
  words: { en: 'heart rate', nl: 'hartslag' },
  quantities: { heartRate },
  omh: omh('heart-rate', '2.0', { heart_rate: measured(heartRate, 'heartRate') }),
})
