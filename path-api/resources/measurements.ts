import { classes } from '../../records/kinds.ts'
import type { ClassKind } from '../../records/registered/kind.ts'
import { registered } from '../operation/registered.ts'

const {
  BloodPressure,
  BodyMassIndex,
  BodyTemperature,
  BodyWeight,
  HeartRate,
  OxygenSaturation,
  BloodGlucose,
} = classes

const source = 'Endpoints, EHR data'
const single = ['get', 'replace', 'delete'] as const

/** Below `/ehr/{ehrId}/procedure/`. What the specification has of a kind is listing and storing. */
const ofSpecification = [
  [BloodPressure, 'bloodpressure'],
  [BodyMassIndex, 'bmi'],
  [BodyTemperature, 'bodytemperature'],
] as const
const beyond = [
  [BodyWeight, 'bodyweight'],
  [HeartRate, 'heartrate'],
  [OxygenSaturation, 'oxygensaturation'],
  [BloodGlucose, 'bloodglucose'],
] as const

const operationsOf = (kind: ClassKind, name: string, extra: Parameters<typeof registered>[2]['extra']) =>
  registered(kind, `/ehr/{ehrId}/procedure/${name}`, { source, parameter: 'compositionId', extra })

export const measurements = [
  ...ofSpecification.flatMap(([kind, name]) => operationsOf(kind, name, single)),
  ...beyond.flatMap(([kind, name]) => operationsOf(kind, name, ['list', 'add', ...single])),
]
