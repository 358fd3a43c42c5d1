import { createHash } from 'node:crypto'
import { SYSTEM_ID, versionUidOf } from '../../records/compositions/composition-record.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { RmObject } from '../rm/canonical-json.ts'

/** The archetype of the default status. */
const GENERIC_STATUS_ARCHETYPE = 'openEHR-EHR-EHR_STATUS.generic.v1'

/** The id of an EHR's status, derived from the id of the EHR, since each EHR has exactly one. */
export function statusIdOf(ehrId: string): string {
  const hash = createHash('sha256').update(`EHR_STATUS of ${ehrId}`).digest('hex')
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
}

/** The status of an EHR until a client sets one. */
export const defaultStatus = (subjectId: string): RmObject => ({
  _type: 'EHR_STATUS',
  archetype_node_id: GENERIC_STATUS_ARCHETYPE,
  name: { _type: 'DV_TEXT', value: 'EHR Status' },
  archetype_details: {
    _type: 'ARCHETYPED',
    archetype_id: { _type: 'ARCHETYPE_ID', value: GENERIC_STATUS_ARCHETYPE },
    rm_version: '1.0.4',
  },
  subject: {
    _type: 'PARTY_SELF',
    external_ref: {
      _type: 'PARTY_REF',
      id: { _type: 'GENERIC_ID', value: subjectId, scheme: 'user' },
      namespace: SYSTEM_ID,
      type: 'PERSON',
    },
  },
  is_queryable: true,
  is_modifiable: true,
})

/**
 * A version of a status for a response: with its uid, and without the subject if that must stay anonymous.
 */
export function toStatusResponse(
  object: RmObject,
  { id, version, unnamed }: { id: string; version: number; unnamed: boolean },
): RmObject {
  const { _type, archetype_node_id, name, subject, ...rest } = object
  const uid = { _type: 'OBJECT_VERSION_ID', value: versionUidOf({ id, version }) }
  return {
    _type,
    archetype_node_id,
    name,
    uid,
    ...rest,
    subject: unnamed ? { _type: 'PARTY_SELF' } : subject,
  }
}

/** The EHR_STATUS in a record. */
export const parseStatusRecord = ({ json }: ParseDocument): RmObject => JSON.parse(String(json))
