import { Type } from '@sinclair/typebox'
import { quantity } from '../../../schemas/common.ts'
import { CuffLocationEnum, CuffSizeEnum, PositionEnum, PressureMethodEnum } from '../../../schemas/enum.ts'
import { derivedNumber, derivedText } from '../../../schemas/forms/fields.ts'
import { bloodPressureCondition } from '../calculations/blood-pressure-condition.ts'
import { bloodPressure } from '../calculations/blood-pressure-thresholds.ts'
import { measurement } from '../measurement.ts'
import { measured, omh, worded } from '../omh.ts'
import { diastolic, diastolicViolations, heartRate, systolic } from '../quantities/quantities.ts'
import { ownUnits, quantityViolations, quantityWarnings } from '../quantities/quantity.ts'
import { rounded } from '../quantities/units.ts'

/** In the words of IEEE 1752.1. */
const POSTURES = new Map([
  ['standing', 'standing'],
  ['sitting', 'sitting'],
  ['reclining', 'semi-recumbent'],
  ['lying', 'lying down'],
])

/** In the words of Open mHealth, which has none for a finger. */
const PLACES = new Map(
  CuffLocationEnum.enum
    .filter((location: string) => location !== 'finger')
    .map((location: string) => [location, location.replace('-arm', ' upper arm').replace('-', ' ')]),
) as Map<string, string>

export const BloodPressure = measurement({
  name: 'BloodPressure',
  path: 'bloodpressure',
  noun: 'blood-pressure measurement',
  description: 'A blood-pressure measurement',
  words: { en: 'blood pressure', nl: 'bloeddruk' },
  specified: ['list', 'add', 'omh'],
  quantities: { systolic, diastolic },
  presets: bloodPressure.presets,
  code: '85354-9',
  summary: 'condition',
  optional: ['diastolic'],
  requiredInPath: ['diastolic', 'diastolicUnit'],
  fields: {
    heartRate: Type.Optional(quantity('Beats per minute: 20 to 300', heartRate.example)),
    position: Type.Optional(PositionEnum),
    location: Type.Optional(CuffLocationEnum),
    cuffSize: Type.Optional(CuffSizeEnum),
    method: Type.Optional(PressureMethodEnum),
    meanArterialPressure: derivedNumber('(systolic + 2 diastolic) / 3, in mm[Hg]', 97.3),
    pulsePressure: derivedNumber('systolic - diastolic, in mm[Hg]', 46),
    condition: derivedText('By ESC/ESH 2018, see docs/decisions', 'normal'),
  },
  omh: omh('blood-pressure', '4.0', {
    systolic_blood_pressure: measured(systolic, 'systolic'),
    diastolic_blood_pressure: measured(diastolic, 'diastolic'),
    body_posture: worded('position', POSTURES),
    measurement_location: worded('location', PLACES),
  }),
  rules: {
    together: ['heartRate'],
    violations: (values) => [
      ...diastolicViolations(values),
      ...quantityViolations(heartRate, 'heartRate', values.heartRate, heartRate.unit),
    ],
    derived: (values) => {
      const { systolicMmHg: upper, diastolicMmHg: lower } = ownUnits({ systolic, diastolic }, values)
      if (upper === undefined || lower === undefined) return {}
      const params = { systolic: upper, diastolic: lower, unit: 'mm[Hg]', thresholds: 'esc2018' } as const
      return {
        meanArterialPressure: rounded((upper + 2 * lower) / 3, 1),
        pulsePressure: rounded(upper - lower, 1),
        condition: bloodPressureCondition(params).condition,
      }
    },
  },
  warnings: ({ heartRate: rate }) => quantityWarnings(heartRate, 'heartRate', rate, heartRate.unit),
})
