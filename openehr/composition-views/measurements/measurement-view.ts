import {
  FROM_COMPOSITION_FILTER,
  MANUALLY_ENTERED_AT_INDEX,
  MANUALLY_ENTERED_INDEX,
  manuallyEnteredIndexOf,
} from '../../../records/measurements/compositions/composition-membership.ts'
import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import { seriesValueOf } from '../../../records/measurements/series.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { toXmlLocalTime } from '../../../schemas/time/iso-time.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import {
  compositionHead,
  compositionOf,
  dvText,
  entryOf,
  namedElement,
  treeOf,
} from '../composition-parts.ts'
import type { CompositionHead, CompositionView } from '../composition-view.ts'
import { measurementTemplate } from './measurement-template.ts'
import { observationArchetypeOf } from './observation-archetypes.ts'

const TIME_FIELD = 'timestamp'

/** The measurements of a kind that are not part of a composition: each is an encounter with one observation. */
export function measurementView(kind: MeasurementKind): CompositionView {
  const { archetype, items } = observationArchetypeOf(kind)
  const head = compositionHead(kind.path, archetype, kind.words.en)
  const fields = Object.values(kind.series).map(({ field }) => field)
  return {
    kind,
    head,
    archetype,
    path: `procedure/${kind.path}`,
    startField: TIME_FIELD,
    values: [
      ...fields.map((field, i) => ({ field, path: 'data/events/data/items', nodeId: items[i] as string })),
      { field: TIME_FIELD, path: 'data/events/time' },
    ],
    filters: { shown: { compositionId: null }, others: FROM_COMPOSITION_FILTER },
    ehrIndex: MANUALLY_ENTERED_INDEX,
    indexOf: (field) =>
      field === TIME_FIELD
        ? MANUALLY_ENTERED_AT_INDEX
        : fields.includes(field)
          ? manuallyEnteredIndexOf(field)
          : undefined,
    toComposition(record) {
      const time = localTimeOf(record)
      return compositionOf(head, record, dvDateTime(time), observationOf(kind, head, record, time))
    },
    example: exampleOf(fields),
    createTemplate: () => measurementTemplate(kind, head),
  }
}

/** The time of a record, in local time if openEHR has its offset. */
function localTimeOf({ [TIME_FIELD]: timestamp, utcOffset }: ParseDocument): string {
  const utc = (timestamp as Date).toISOString()
  return toXmlLocalTime(utc, utcOffset) ?? utc
}

const dvDateTime = (value: string): RmObject => ({ _type: 'DV_DATE_TIME', value })

function observationOf(
  kind: MeasurementKind,
  { name }: CompositionHead,
  record: ParseDocument,
  time: string,
): RmObject {
  const { archetype, history, event, tree, items } = observationArchetypeOf(kind)
  const elements = Object.values(kind.series).flatMap((series, i) => {
    const value = seriesValueOf(series, record)
    return value === undefined
      ? []
      : namedElement(items[i] as string, series.label, toDataValue(value, series.unit))
  })
  const pointEvent = {
    _type: 'POINT_EVENT',
    archetype_node_id: event,
    name: dvText('Any event'),
    time: dvDateTime(time),
    data: treeOf(tree, elements),
  }
  return entryOf('OBSERVATION', archetype, name, {
    _type: 'HISTORY',
    archetype_node_id: history,
    name: dvText('History'),
    origin: dvDateTime(time),
    events: [pointEvent],
  })
}

/** The archetype of saturation uses a proportion; scores are counts; everything else is a quantity. */
function toDataValue(value: number, unit: string): RmObject {
  if (unit === '%') return { _type: 'DV_PROPORTION', numerator: value, denominator: 100, type: 2 }
  if (unit !== '{score}') return { _type: 'DV_QUANTITY', magnitude: value, units: unit }
  return Number.isInteger(value)
    ? { _type: 'DV_COUNT', magnitude: value }
    : { _type: 'DV_QUANTITY', magnitude: value, units: '1' }
}

function exampleOf(fields: readonly string[]): ParseDocument {
  const record: Record<string, unknown> = { _id: 'example', version: 1, [TIME_FIELD]: new Date(0) }
  for (const field of fields) putNested(record, field.split('.'), 1)
  return record as unknown as ParseDocument
}

function putNested(record: Record<string, unknown>, [name = '', ...rest]: string[], value: number): void {
  if (rest.length === 0) record[name] = value
  else {
    const inner = (record[name] ?? {}) as Record<string, unknown>
    record[name] = inner
    putNested(inner, rest, value)
  }
}
