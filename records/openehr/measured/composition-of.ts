import type { MeasurementKind } from '../../measurements/measurement.ts'
import { valueIn } from '../../measurements/series.ts'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { versionUid } from '../composition-record.ts'
import type { RmObject } from '../rm/canonical.ts'
import { ROOT, shapeOf } from './shapes.ts'

/** What is true of the compositions of a kind, by the fields that compositions are stored with. */
export const headOf = (kind: MeasurementKind) => ({
  archetypes: [ROOT, shapeOf(kind).archetype],
  templateId: `hrs.${kind.path}.v1`,
  name: nameOf(kind),
})

export const nameOf = ({ words: { en } }: MeasurementKind): string =>
  `${en.slice(0, 1).toUpperCase()}${en.slice(1)}`

const text = (value: string): RmObject => ({ _type: 'DV_TEXT', value })
const phrase = (terminology: string, code_string: string): RmObject => ({
  _type: 'CODE_PHRASE',
  terminology_id: { _type: 'TERMINOLOGY_ID', value: terminology },
  code_string,
})
const coded = (value: string, code: string): RmObject => ({
  _type: 'DV_CODED_TEXT',
  value,
  defining_code: phrase('openehr', code),
})
const details = (archetype: string, template?: string): RmObject => ({
  _type: 'ARCHETYPED',
  archetype_id: { _type: 'ARCHETYPE_ID', value: archetype },
  ...(template && { template_id: { _type: 'TEMPLATE_ID', value: template } }),
  rm_version: '1.0.4',
})

/** A saturation is a proportion in its archetype, points are counted, everything else has a unit. */
function measuredValue(value: number, unit: string): RmObject {
  if (unit === '%') return { _type: 'DV_PROPORTION', numerator: value, denominator: 100, type: 2 }
  if (unit !== '{score}') return { _type: 'DV_QUANTITY', magnitude: value, units: unit }
  return Number.isInteger(value)
    ? { _type: 'DV_COUNT', magnitude: value }
    : { _type: 'DV_QUANTITY', magnitude: value, units: '1' }
}

/** A measurement as the composition that its kind says: made when it is read. */
export function compositionOf(kind: MeasurementKind, record: ParseDocument): RmObject {
  const { archetype, history, event, tree, items } = shapeOf(kind)
  const time = { _type: 'DV_DATE_TIME', value: (record.timestamp as Date).toISOString() }
  const elements = Object.values(kind.series).flatMap((series, i) => {
    const value = valueIn(series, record)
    if (value === undefined) return []
    const id = items[i] as string
    return [
      {
        _type: 'ELEMENT',
        archetype_node_id: id,
        name: text(series.label),
        value: measuredValue(value, series.unit),
      },
    ]
  })
  const data = { _type: 'ITEM_TREE', archetype_node_id: tree, name: text('Data'), items: elements }
  const measured = { _type: 'POINT_EVENT', archetype_node_id: event, name: text('Any event'), time, data }
  const observation = {
    _type: 'OBSERVATION',
    archetype_node_id: archetype,
    name: text(nameOf(kind)),
    archetype_details: details(archetype),
    language: phrase('ISO_639-1', 'en'),
    encoding: phrase('IANA_character-sets', 'UTF-8'),
    subject: { _type: 'PARTY_SELF' },
    data: {
      _type: 'HISTORY',
      archetype_node_id: history,
      name: text('History'),
      origin: time,
      events: [measured],
    },
  }
  return { ...rootOf(kind, record, time), content: [observation] }
}

function rootOf(kind: MeasurementKind, { _id: id, version }: ParseDocument, time: RmObject): RmObject {
  const { templateId, name } = headOf(kind)
  return {
    _type: 'COMPOSITION',
    archetype_node_id: ROOT,
    name: text(name),
    uid: { _type: 'OBJECT_VERSION_ID', value: versionUid({ id, version }) },
    archetype_details: details(ROOT, templateId),
    language: phrase('ISO_639-1', 'en'),
    territory: phrase('ISO_3166-1', 'NL'),
    category: coded('event', '433'),
    composer: { _type: 'PARTY_SELF' },
    context: { _type: 'EVENT_CONTEXT', start_time: time, setting: coded('other care', '238') },
  }
}
