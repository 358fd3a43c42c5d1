import { Type } from '@sinclair/typebox'
import { CuffLocationEnum, CuffSizeEnum, PositionEnum, PressureMethodEnum } from '../../../schemas/enums.ts'
import { derivedNumberField, derivedTextField } from '../../../schemas/forms/fields.ts'
import {
  conceptElement,
  conceptExtension,
  extensionElement,
  ownUri,
  STRUCTURES,
} from '../../fhir/elements.ts'
import { bloodPressureThresholds, pressurePresets } from '../calculations/blood-pressure-thresholds.ts'
import { findBand } from '../calculations/thresholds.ts'
import { componentObservation, observationPart } from '../fhir/observation.ts'
import { defineMeasurement } from '../measurement.ts'
import { codedMember, defineOmhBody, quantityMember } from '../omh.ts'
import { diastolic, diastolicViolations, heartRate, systolic } from '../quantities/quantities.ts'
import { ownUnitField, quantityViolations, quantityWarnings, toOwnUnit } from '../quantities/quantity.ts'

/** The postures as IEEE 1752.1 calls them. */
const OMH_POSTURES = new Map([
  ['standing', 'standing'],
  ['sitting', 'sitting'],
  ['reclining', 'semi-recumbent'],
  ['lying', 'lying down'],
])

/** The cuff locations as Open mHealth calls them; it has no word for a finger. */
const OMH_LOCATIONS = new Map(
  CuffLocationEnum.enum
    .filter((location: string) => location !== 'finger')
    .map((location: string) => [location, location.replace('-arm', ' upper arm').replace('-', ' ')]),
) as Map<string, string>

export const BloodPressure = defineMeasurement({
  name: 'BloodPressure',
  path: 'bloodpressure',
  noun: 'blood-pressure measurement',
  description: 'A blood-pressure measurement',
  words: { en: 'blood pressure', nl: 'bloeddruk' },
  specified: ['list', 'add', 'omh'],
  quantities: { systolic, diastolic },
  presets: bloodPressureThresholds.presets,
  code: '85354-9',
  fhir: componentObservation(
    { code: '85354-9', label: 'Blood pressure', quantities: { systolic, diastolic } },
    {
      profile: 'bp',
      elements: [
        conceptExtension('position', `${STRUCTURES}/observation-bodyPosition`, ownUri('body-position')),
        conceptElement('location', 'bodySite', ownUri('cuff-location')),
        extensionElement('cuffSize', ownUri('cuff-size'), 'valueCode'),
        conceptElement('method', 'method', ownUri('blood-pressure-method')),
      ],
      parts: { hr: observationPart('heartRate', heartRate, { profile: 'heartrate', isNumber: true }) },
    },
  ),
  summary: 'condition',
  optional: ['diastolic'],
  requiredInPath: ['diastolic', 'diastolicUnit'],
  fields: {
    heartRate: Type.Optional(ownUnitField('Pulse, in beats per minute', heartRate)),
    position: Type.Optional(PositionEnum),
    location: Type.Optional(CuffLocationEnum),
    cuffSize: Type.Optional(CuffSizeEnum),
    method: Type.Optional(PressureMethodEnum),
    meanArterialPressure: derivedNumberField(
      'Mean arterial pressure in mm[Hg]: (systolic + 2 diastolic) / 3',
      97.3,
    ),
    pulsePressure: derivedNumberField('Pulse pressure in mm[Hg]: systolic - diastolic', 46),
    condition: derivedTextField(
      'Category by ESC/ESH 2018; of a systolic pressure alone only if it shows hypertension',
      'normal',
    ),
  },
  omh: defineOmhBody('blood-pressure', '4.0', {
    systolic_blood_pressure: quantityMember(systolic, 'systolic'),
    diastolic_blood_pressure: quantityMember(diastolic, 'diastolic'),
    body_posture: codedMember('position', OMH_POSTURES),
    measurement_location: codedMember('location', OMH_LOCATIONS),
  }),
  rules: {
    // 2: a systolic pressure alone can show hypertension.
    derivationVersion: 2,
    dependentFields: ['heartRate'],
    violations: (values) => [
      ...diastolicViolations(values),
      ...quantityViolations(heartRate, 'heartRate', values.heartRate, heartRate.unit),
    ],
    derived: (values) => {
      const upper = toOwnUnit(systolic, values.systolic, values.systolicUnit)
      const lower = toOwnUnit(diastolic, values.diastolic, values.diastolicUnit)
      const { esc2018 } = pressurePresets
      const band = findBand(esc2018, bloodPressureThresholds.names, { systolic: upper, diastolic: lower })
      if (upper === undefined) return {}
      if (lower === undefined)
        // A systolic pressure alone can show hypertension, but not that there is none.
        return { condition: band && band.severity >= esc2018.alertFrom ? band.code : undefined }
      return {
        meanArterialPressure: upper.plus(lower.times(2)).dividedBy(3).round(1),
        pulsePressure: upper.minus(lower).round(1),
        condition: band?.code,
      }
    },
  },
  warnings: ({ heartRate: rate }) => quantityWarnings(heartRate, 'heartRate', rate, heartRate.unit),
})
