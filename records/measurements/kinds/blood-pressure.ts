import { Type } from '@sinclair/typebox'
import { CuffLocationEnum, CuffSizeEnum, PositionEnum, PressureMethodEnum } from '../../../schemas/enum.ts'
import { derived } from '../../../schemas/forms/fields.ts'
import { bloodPressureCondition } from '../calculations/blood-pressure-condition.ts'
import { bloodPressure } from '../calculations/blood-pressure-thresholds.ts'
import { measurement } from '../measurement.ts'
import { omh } from '../omh.ts'
import { diastolic, diastolicViolations, systolic } from '../quantities/quantities.ts'
import { ownUnits, unitValue } from '../quantities/quantity.ts'
import { rounded } from '../quantities/units.ts'

const follows = (description: string, example: number) =>
  derived(Type.Optional(Type.Number({ description, examples: [example] })))

/** In the words of IEEE 1752.1. */
const POSTURES: Readonly<Record<string, string>> = {
  standing: 'standing',
  sitting: 'sitting',
  reclining: 'semi-recumbent',
  lying: 'lying down',
}

/** In the words of Open mHealth, which has none for a finger. */
const placeOf = (location: unknown): string | undefined =>
  typeof location === 'string' && location !== 'finger'
    ? location.replace('-arm', ' upper arm').replace('-', ' ')
    : undefined

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
    heartRate: Type.Optional(Type.Number({ minimum: 10, maximum: 400, description: 'Beats per minute' })),
    position: Type.Optional(PositionEnum),
    location: Type.Optional(CuffLocationEnum),
    cuffSize: Type.Optional(CuffSizeEnum),
    method: Type.Optional(PressureMethodEnum),
    meanArterialPressure: follows('(systolic + 2 diastolic) / 3, in mm[Hg]', 97.3),
    pulsePressure: follows('systolic - diastolic, in mm[Hg]', 46),
    condition: derived(
      Type.Optional(
        Type.String({ description: 'By ESC/ESH 2018, see docs/decisions', examples: ['normal'] }),
      ),
    ),
  },
  omh: omh('blood-pressure', '4.0', (record) => {
    const [upper, lower] = [
      unitValue(systolic, 'systolic', record),
      unitValue(diastolic, 'diastolic', record),
    ]
    if (!upper || !lower) return undefined
    return {
      systolic_blood_pressure: upper,
      diastolic_blood_pressure: lower,
      body_posture: POSTURES[String(record.position)],
      measurement_location: placeOf(record.location),
    }
  }),
  rules: {
    violations: diastolicViolations,
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
})
