import type { RecordFilter } from '../../../records/ehr-records/ehr-records.ts'
import { MEASUREMENT_KINDS } from '../../../records/kinds.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import { toDataPoint } from '../../../records/measurements/omh.ts'
import { DataPoint } from '../../../schemas/measurements/data-point.ts'
import { defineArrayOperation } from '../../operation/list-operation.ts'
import type { Operation } from '../../operation/operation.ts'
import {
  createRangeParameters,
  defineRecordOperations,
  pluralize,
} from '../../operation/record-operations.ts'

const measurementsSource = 'Endpoints, EHR data'
const EXTRA_OPERATIONS = ['list', 'add', 'get', 'replace', 'delete'] as const

type MeasurementPath = `/ehr/{ehrId}/procedure/${string}`

export function measurementKindOperations(kind: MeasurementKind): Operation[] {
  const path: MeasurementPath = `/ehr/{ehrId}/procedure/${kind.path}`
  const extra = EXTRA_OPERATIONS.filter((operation) => !kind.specified.includes(operation))
  return [
    ...defineRecordOperations(kind, path, { source: measurementsSource, parameter: 'compositionId', extra }),
    ...dataPointOperations(kind, path),
  ]
}

export const measurementOperations = MEASUREMENT_KINDS.flatMap(measurementKindOperations)

/** Lists the measurements of a kind as data points, if Open mHealth defines it. */
function dataPointOperations({ omh, specified, ...kind }: MeasurementKind, path: MeasurementPath) {
  if (!omh) return []
  const { namespace, name, version } = omh.schema
  return [
    defineArrayOperation({
      id: `list${kind.name}DataPoints`,
      path: `${path}/omh`,
      summary: `List the ${pluralize(kind.noun)} of an EHR as data points`,
      description:
        `Each body conforms to the schema ${namespace}:${name}:${version}; a corrected measurement shows its current values. ` +
        'Measurements that the schema cannot express are skipped, so a page may have fewer items than `limit`; the header Link leads to the next page.',
      source: measurementsSource,
      ...(specified.includes('omh') ? {} : { extra: true }),
      access: 'ehr:read',
      query: createRangeParameters(kind),
      order: 'desc',
      item: DataPoint,
      handle: async ({ params, query, page }, { caller, recordsOf }) => {
        const measurements = await recordsOf(kind).list(caller, params.ehrId, query as RecordFilter, page)
        const points = measurements.items.flatMap(
          (record) => toDataPoint(omh, kind.name, record as never) ?? [],
        )
        return { ...measurements, items: points }
      },
    }),
  ]
}
