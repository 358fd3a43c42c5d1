import { versionUidOf } from '../../records/compositions/composition-record.ts'
import type { MeasurementKind } from '../../records/measurements/measurement.ts'
import { seriesValueOf } from '../../records/measurements/series.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { ENCOUNTER_ARCHETYPE, observationArchetypeOf } from './observation-archetypes.ts'

/** Values that all compositions of a kind share, by the stored fields of compositions. */
export const compositionHead = (kind: MeasurementKind) => ({
  archetypes: [ENCOUNTER_ARCHETYPE, observationArchetypeOf(kind).archetype],
  templateId: `hrs.${kind.path}.v1`,
  name: compositionName(kind),
})

export const compositionName = ({ words: { en } }: MeasurementKind): string =>
  `${en.slice(0, 1).toUpperCase()}${en.slice(1)}`

const dvText = (value: string): RmObject => ({ _type: 'DV_TEXT', value })
const codePhrase = (terminology: string, code_string: string): RmObject => ({
  _type: 'CODE_PHRASE',
  terminology_id: { _type: 'TERMINOLOGY_ID', value: terminology },
  code_string,
})
const dvCodedText = (value: string, code: string): RmObject => ({
  _type: 'DV_CODED_TEXT',
  value,
  defining_code: codePhrase('openehr', code),
})
const archetypeDetails = (archetype: string, template?: string): RmObject => ({
  _type: 'ARCHETYPED',
  archetype_id: { _type: 'ARCHETYPE_ID', value: archetype },
  ...(template && { template_id: { _type: 'TEMPLATE_ID', value: template } }),
  rm_version: '1.0.4',
})

/** The archetype of saturation uses a proportion; scores are counts; everything else is a quantity. */
function toDataValue(value: number, unit: string): RmObject {
  if (unit === '%') return { _type: 'DV_PROPORTION', numerator: value, denominator: 100, type: 2 }
  if (unit !== '{score}') return { _type: 'DV_QUANTITY', magnitude: value, units: unit }
  return Number.isInteger(value)
    ? { _type: 'DV_COUNT', magnitude: value }
    : { _type: 'DV_QUANTITY', magnitude: value, units: '1' }
}

/** Builds the composition of a measurement when it is read. */
export function toComposition(kind: MeasurementKind, record: ParseDocument): RmObject {
  const { archetype, history, event, tree, items } = observationArchetypeOf(kind)
  const time = { _type: 'DV_DATE_TIME', value: (record.timestamp as Date).toISOString() }
  const elements = Object.values(kind.series).flatMap((series, i) => {
    const value = seriesValueOf(series, record)
    if (value === undefined) return []
    const id = items[i] as string
    return [
      {
        _type: 'ELEMENT',
        archetype_node_id: id,
        name: dvText(series.label),
        value: toDataValue(value, series.unit),
      },
    ]
  })
  const data = { _type: 'ITEM_TREE', archetype_node_id: tree, name: dvText('Data'), items: elements }
  const measured = { _type: 'POINT_EVENT', archetype_node_id: event, name: dvText('Any event'), time, data }
  const observation = {
    _type: 'OBSERVATION',
    archetype_node_id: archetype,
    name: dvText(compositionName(kind)),
    archetype_details: archetypeDetails(archetype),
    language: codePhrase('ISO_639-1', 'en'),
    encoding: codePhrase('IANA_character-sets', 'UTF-8'),
    subject: { _type: 'PARTY_SELF' },
    data: {
      _type: 'HISTORY',
      archetype_node_id: history,
      name: dvText('History'),
      origin: time,
      events: [measured],
    },
  }
  return { ...compositionRoot(kind, record, time), content: [observation] }
}

function compositionRoot(
  kind: MeasurementKind,
  { _id: id, version }: ParseDocument,
  time: RmObject,
): RmObject {
  const { templateId, name } = compositionHead(kind)
  return {
    _type: 'COMPOSITION',
    archetype_node_id: ENCOUNTER_ARCHETYPE,
    name: dvText(name),
    uid: { _type: 'OBJECT_VERSION_ID', value: versionUidOf({ id, version }) },
    archetype_details: archetypeDetails(ENCOUNTER_ARCHETYPE, templateId),
    language: codePhrase('ISO_639-1', 'en'),
    territory: codePhrase('ISO_3166-1', 'NL'),
    category: dvCodedText('event', '433'),
    composer: { _type: 'PARTY_SELF' },
    context: { _type: 'EVENT_CONTEXT', start_time: time, setting: dvCodedText('other care', '238') },
  }
}
