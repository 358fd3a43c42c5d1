import { SYSTEM_ID, versionUidOf } from '../../records/compositions/composition-record.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { dvDateTime, objectVersionId, toAuditDetails, type VersionAuthorship } from './original-version.ts'

const hierObjectId = (value: string): RmObject => ({ _type: 'HIER_OBJECT_ID', value })

export const objectRef = (id: RmObject, type: string): RmObject => ({
  _type: 'OBJECT_REF',
  id,
  namespace: SYSTEM_ID,
  type,
})

/** A VERSIONED_COMPOSITION or VERSIONED_EHR_STATUS. @param ehrId as the client knows it */
export const toVersionedObject = (
  type: string,
  { id, ehrId, createdAt }: { id: string; ehrId: string; createdAt: string },
): RmObject => ({
  _type: `VERSIONED_${type}`,
  uid: hierObjectId(id),
  owner_id: objectRef(hierObjectId(ehrId), 'EHR'),
  time_created: dvDateTime(createdAt),
})

/** A REVISION_HISTORY, in the order of the changes, with the audits that clients sent. */
export const toRevisionHistory = (
  id: string,
  changes: readonly (VersionAuthorship & { version: number })[],
  auditsByUid: ReadonlyMap<string, RmObject>,
): RmObject => ({
  _type: 'REVISION_HISTORY',
  items: changes.map((change) => ({
    _type: 'REVISION_HISTORY_ITEM',
    version_id: objectVersionId({ id, version: change.version }),
    audits: [
      auditsByUid.get(versionUidOf({ id, version: change.version })) ??
        toAuditDetails({ version: change.version, updatedAt: change.at }, change),
    ],
  })),
})

interface EhrHead {
  /** The EHR id as the client knows it. */
  id: string
  createdAt: string
  status: { id: string; version: number }
  directory: { id: string; version: number } | undefined
}

/** The EHR of the reference model. */
export const toEhrObject = ({ id, createdAt, status, directory }: EhrHead): RmObject => ({
  _type: 'EHR',
  system_id: hierObjectId(SYSTEM_ID),
  ehr_id: hierObjectId(id),
  ehr_status: objectRef(objectVersionId(status), 'EHR_STATUS'),
  ...(directory && { directory: objectRef(objectVersionId(directory), 'FOLDER') }),
  time_created: dvDateTime(createdAt),
})

/** A CONTRIBUTION of the reference model. */
export const toContributionObject = ({
  uid,
  audit,
  versions,
}: {
  uid: string
  audit: RmObject
  versions: readonly { uid: string; type: string }[]
}): RmObject => ({
  _type: 'CONTRIBUTION',
  uid: hierObjectId(uid),
  versions: versions.map((one) => objectRef({ _type: 'OBJECT_VERSION_ID', value: one.uid }, one.type)),
  audit,
})
