import type { MeasurementKind } from '../../../records/measurements/measurement.ts'
import type { Series } from '../../../records/measurements/series.ts'
import type { CompositionHead } from '../composition-view.ts'
import {
  EXACTLY_ONE,
  elementXml,
  entryXml,
  multipleAttributeXml,
  ONE_OR_MORE,
  objectXml,
  primitiveXml,
  quantityXml,
  rangeXml,
  singleAttributeXml,
  templateXml,
  treeXml,
  xmlElement,
} from '../template-xml.ts'
import { observationArchetypeOf } from './observation-archetypes.ts'

/** The operational template (OPT 1.4) of a kind's measurement compositions. */
export const measurementTemplate = (kind: MeasurementKind, head: CompositionHead): string =>
  templateXml(head, observationXml(kind, head))

function observationXml(kind: MeasurementKind, { name }: CompositionHead): string {
  const { archetype, history, event, tree, items } = observationArchetypeOf(kind)
  const series = Object.values(kind.series)
  const elements = series.map((one, i) => elementXml(items[i] as string, seriesValueXml(one)))
  const events = multipleAttributeXml(
    'events',
    ONE_OR_MORE,
    objectXml('EVENT', event, ONE_OR_MORE, singleAttributeXml('data', treeXml(tree, elements))),
  )
  return entryXml('OBSERVATION', archetype, objectXml('HISTORY', history, EXACTLY_ONE, events), [
    ['at0000', name],
    [history, 'History'],
    [event, 'Any event'],
    [tree, 'Data'],
    ...series.map(({ label }, i): [string, string] => [items[i] as string, label]),
  ])
}

/** Must match `toDataValue`. */
function seriesValueXml({ unit, range: bounds }: Series): string {
  if (unit === '%')
    return objectXml(
      ...(['DV_PROPORTION', '', EXACTLY_ONE] as const),
      singleAttributeXml('numerator', primitiveXml('REAL', 'C_REAL', rangeXml('range', bounds))),
      singleAttributeXml('denominator', primitiveXml('REAL', 'C_REAL', xmlElement('list', '100'))),
      singleAttributeXml('type', primitiveXml('INTEGER', 'C_INTEGER', xmlElement('list', '2'))),
    )
  if (unit !== '{score}') return quantityXml(unit, bounds)
  const magnitude = singleAttributeXml(
    'magnitude',
    primitiveXml('INTEGER', 'C_INTEGER', rangeXml('range', bounds)),
  )
  return objectXml('DV_COUNT', '', EXACTLY_ONE, magnitude) + quantityXml('1', bounds)
}
