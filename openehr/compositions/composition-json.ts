import { versionUidOf } from '../../records/compositions/composition-record.ts'
import type { RmObject } from '../rm/canonical-json.ts'

/** A version of a composition as it is stored. */
interface StoredVersion {
  id: string
  version: number
  /** Without the uid. */
  json?: string
}

/** The composition of a version with its uid; undefined if that version marks it as deleted. */
export function toRmObject({ json, ...version }: StoredVersion): RmObject | undefined {
  if (json === undefined) return undefined
  const { _type, archetype_node_id, name, ...rest } = JSON.parse(json)
  const uid = { _type: 'OBJECT_VERSION_ID', value: versionUidOf(version) }
  return { _type, archetype_node_id, name, uid, ...rest }
}

/** The beginning of the JSON of each composition. */
const JSON_BEGINNING = '{"_type":"COMPOSITION",'

/** The JSON of a version with its uid, as it is stored; undefined if that version marks it as deleted. */
export function toRmJson({ json, ...version }: StoredVersion): string | undefined {
  if (json === undefined) return undefined
  if (!json.startsWith(JSON_BEGINNING)) return JSON.stringify(toRmObject({ json, ...version }))
  const uid = JSON.stringify({ _type: 'OBJECT_VERSION_ID', value: versionUidOf(version) })
  return `${JSON_BEGINNING}"uid":${uid},${json.slice(JSON_BEGINNING.length)}`
}
