import { measurement } from '../measurement.ts'
import { measured, omh } from '../omh.ts'
import type { Quantity } from '../quantities/quantity.ts'

const heartRate: Quantity = {
  label: 'Heart rate',
  kind: 'frequency',
  unit: '/min',
  inUnit: 'heartRatePerMin',
  hard: [20, 300],
  warn: [40, 180],
  example: 72,
  codes: { loinc: '8867-4', snomed: '364075005' },
}

export const HeartRate = measurement({
  name: 'HeartRate',
  path: 'heartrate',
  noun: 'heart-rate measurement',
  description: 'A heart-rate measurement',
  words: { en: 'heart rate', nl: 'hartslag' },
  quantities: { heartRate },
  omh: omh('heart-rate', '2.0', { heart_rate: measured(heartRate, 'heartRate') }),
})
