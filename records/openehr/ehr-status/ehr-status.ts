import { createHash } from 'node:crypto'
import type { ParseDocument } from '../../store/documents/parse-format.ts'
import { SYSTEM_ID, versionUid } from '../composition-record.ts'
import type { RmObject } from '../rm/canonical.ts'

/** The archetype of the status that an EHR has without anybody giving it one. */
const GENERIC = 'openEHR-EHR-EHR_STATUS.generic.v1'

/** The id of the status of an EHR: it follows from the EHR's, since each has one. */
export function statusIdOf(ehrId: string): string {
  const hash = createHash('sha256').update(`EHR_STATUS of ${ehrId}`).digest('hex')
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
}

/** The status of an EHR to which nobody has given one. */
export const usualStatus = (subjectId: string): RmObject => ({
  _type: 'EHR_STATUS',
  archetype_node_id: GENERIC,
  name: { _type: 'DV_TEXT', value: 'EHR Status' },
  archetype_details: {
    _type: 'ARCHETYPED',
    archetype_id: { _type: 'ARCHETYPE_ID', value: GENERIC },
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

/** A version of a status as it is shown: with its uid, and with nobody's name for whom the subject stays unnamed. */
export function statusInResponse(
  object: RmObject,
  { id, version, unnamed }: { id: string; version: number; unnamed: boolean },
): RmObject {
  const { _type, archetype_node_id, name, subject, ...rest } = object
  const uid = { _type: 'OBJECT_VERSION_ID', value: versionUid({ id, version }) }
  return {
    _type,
    archetype_node_id,
    name,
    uid,
    ...rest,
    subject: unnamed ? { _type: 'PARTY_SELF' } : subject,
  }
}

/** What a record of a status says. */
export const statusIn = ({ json }: ParseDocument): RmObject => JSON.parse(String(json))
