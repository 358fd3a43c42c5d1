import { MEASUREMENTS } from '../../records/kinds.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { dataPoint } from '../../records/measurements/omh.ts'
import type { Range } from '../../records/registered/registered.ts'
import { DataPoint } from '../../schemas/data-point.ts'
import { array } from '../operation/list.ts'
import type { Operation } from '../operation/operation.ts'
import { plural, rangeOf, registered } from '../operation/registered.ts'

const source = 'Endpoints, EHR data'
const plain = ['list', 'add', 'get', 'replace', 'delete'] as const

type Path = `/ehr/{ehrId}/procedure/${string}`

/** The operations of a kind of measurement. */
export function operationsOf(kind: MeasurementKind): Operation[] {
  const path: Path = `/ehr/{ehrId}/procedure/${kind.path}`
  const extra = plain.filter((what) => !kind.specified.includes(what))
  return [...registered(kind, path, { source, parameter: 'compositionId', extra }), ...dataPoints(kind, path)]
}

export const measurements = MEASUREMENTS.flatMap(operationsOf)

/** The measurements of a kind as data points, where Open mHealth knows them. */
function dataPoints({ omh, specified, ...kind }: MeasurementKind, path: Path) {
  if (!omh) return []
  const { namespace, name, version } = omh.schema
  return [
    array({
      id: `list${kind.name}DataPoints`,
      path: `${path}/omh`,
      summary: `List the ${plural(kind.noun)} of an EHR as data points`,
      description:
        `Each body conforms to the schema ${namespace}:${name}:${version}; a corrected measurement shows its current values. ` +
        'What the schema cannot express is left out, so a page may have fewer items than `limit`: the header Link leads to the next one.',
      source,
      ...(specified.includes('omh') ? {} : { extra: true }),
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
