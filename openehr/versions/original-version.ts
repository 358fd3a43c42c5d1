import { SYSTEM_ID, versionUidOf } from '../../records/compositions/composition-record.ts'
import type { HistoryEntry } from '../../records/store/writing/history.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { codedText } from '../rm/values/coded-text.ts'

/** A version of a record: its time is that of the write. */
export interface VersionHead {
  id: string
  version: number
  updatedAt: Date | string
}

/** Author and time of a version. */
export type VersionAuthorship = Pick<HistoryEntry, 'userId' | 'action'> & { at: Date | string }

/** The change types of the openEHR terminology. */
const CHANGE_TYPES = {
  create: codedText('creation', '249'),
  update: codedText('modification', '251'),
  delete: codedText('deleted', '523'),
}

export const dvDateTime = (at: Date | string): RmObject => ({
  _type: 'DV_DATE_TIME',
  value: new Date(at).toISOString(),
})

export const objectVersionId = (versionKey: { id: string; version: number }): RmObject => ({
  _type: 'OBJECT_VERSION_ID',
  value: versionUidOf(versionKey),
})

/** The ORIGINAL_VERSION of a record's version, without its contribution and data. */
export function toOriginalVersion(head: VersionHead, authorship: VersionAuthorship | undefined): RmObject {
  const { id, version } = head
  return {
    _type: 'ORIGINAL_VERSION',
    uid: objectVersionId(head),
    ...(version > 1 && { preceding_version_uid: objectVersionId({ id, version: version - 1 }) }),
    commit_audit: toAuditDetails(head, authorship),
    lifecycle_state:
      authorship?.action === 'delete' ? codedText('deleted', '523') : codedText('complete', '532'),
  }
}

/** The AUDIT_DETAILS of a version. */
export function toAuditDetails(
  { version, updatedAt }: Omit<VersionHead, 'id'>,
  authorship: VersionAuthorship | undefined,
): RmObject {
  return {
    _type: 'AUDIT_DETAILS',
    system_id: SYSTEM_ID,
    time_committed: dvDateTime(authorship?.at ?? updatedAt),
    change_type: CHANGE_TYPES[authorship?.action ?? (version === 1 ? 'create' : 'update')],
    ...(authorship && { committer: toCommitter(authorship.userId) }),
  }
}

const toCommitter = (userId: string): RmObject => ({
  _type: 'PARTY_IDENTIFIED',
  external_ref: {
    _type: 'PARTY_REF',
    namespace: SYSTEM_ID,
    type: 'PERSON',
    id: { _type: 'GENERIC_ID', value: userId, scheme: 'user' },
  },
})
