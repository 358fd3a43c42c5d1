import { classes } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { dataPoint } from '../../records/measurements/omh.ts'
import type { Range } from '../../records/registered/registered.ts'
import { DataPoint } from '../../schemas/data-point.ts'
import { array } from '../operation/list.ts'
import { plural, rangeOf, registered } from '../operation/registered.ts'

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

/** What the specification has of a kind is listing and storing. */
const ofSpecification = [BloodPressure, BodyMassIndex, BodyTemperature]
const beyond = [BodyWeight, HeartRate, OxygenSaturation, BloodGlucose]

/** Of the lists of data points those that the specification has, by the names of their schemas. */
const IN_SPECIFICATION = ['blood-pressure', 'body-mass-index', 'survey']

const operationsOf = (kind: MeasurementKind, extra: Parameters<typeof registered>[2]['extra']) => {
  const path = `/ehr/{ehrId}/procedure/${kind.path}` as const
  return [...registered(kind, path, { source, parameter: 'compositionId', extra }), ...dataPoints(kind, path)]
}

export const measurements = [
  ...ofSpecification.flatMap((kind) => operationsOf(kind, single)),
  ...beyond.flatMap((kind) => operationsOf(kind, ['list', 'add', ...single])),
]

/** The measurements of a kind as data points, where Open mHealth knows them. */
function dataPoints({ omh, ...kind }: MeasurementKind, path: `/ehr/{ehrId}/procedure/${string}`) {
  if (!omh) return []
  const { namespace, name, version } = omh.schema
  return [
    array({
      id: `list${kind.name}DataPoints`,
      path: `${path}/omh`,
      summary: `List the ${plural(kind.noun)} of an EHR as data points`,
      description:
        `Each body fits the schema ${namespace}:${name}:${version}; a corrected value shows the present one. What the ` +
        'schema has no words for is left out, so that a page may have less than `limit`: the next one is in the header Link.',
      source,
      ...(IN_SPECIFICATION.includes(name) ? {} : { extra: true }),
      access: 'ehr:read',
      query: rangeOf(kind),
      order: 'desc',
      item: DataPoint,
      handle: async ({ params, query, page }, { caller, recordsOf }) => {
        const found = await recordsOf(kind).list(caller, params.ehrId, query as Range, page)
        const points = found.items.flatMap((record) => dataPoint(omh, kind.name, record as never) ?? [])
        return { ...found, items: points }
      },
    }),
  ]
}
