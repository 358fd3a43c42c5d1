import { SYSTEM_ID, versionUidOf } from '../../records/compositions/composition-record.ts'
import type { ParseDocument } from '../../records/store/documents/parse-format.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { namesSubject } from './subject.ts'

/** The archetype of the default status. */
const GENERIC_STATUS_ARCHETYPE = 'openEHR-EHR-EHR_STATUS.generic.v1'

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
 * A version of a status for a response: with its uid, and with the subject of the EHR, whomever the stored
 * version names. Without the subject (undefined) if that must stay anonymous.
 */
export function toStatusResponse(
  object: RmObject,
  { id, version, subjectId }: { id: string; version: number; subjectId: string | undefined },
): RmObject {
  const { _type, archetype_node_id, name, subject: _, ...rest } = object
  const uid = { _type: 'OBJECT_VERSION_ID', value: versionUidOf({ id, version }) }
  return {
    _type,
    archetype_node_id,
    name,
    uid,
    ...rest,
    subject: subjectId === undefined ? { _type: 'PARTY_SELF' } : ownSubject(object, subjectId),
  }
}

const ownSubject = (status: RmObject, subjectId: string): unknown =>
  namesSubject(status, subjectId) ? status.subject : defaultStatus(subjectId).subject

/** The EHR_STATUS in a record. */
export const parseStatusRecord = ({ json }: ParseDocument): RmObject => JSON.parse(String(json))
