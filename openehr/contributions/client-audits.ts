import { versionUidOf } from '../../records/compositions/composition-record.ts'
import { Contribution } from '../../records/compositions/contribution-record.ts'
import { type Database, documentCollection } from '../../records/store/documents/database.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { codedText } from '../rm/values/coded-text.ts'
import { objectRef } from '../versions/versioned-object.ts'
import { COMMIT_CODES, type VersionedClass } from './contribution.ts'

/** The details of a version that a client committed. */
export interface CommittedVersion {
  uid: string
  type: VersionedClass
  audit: RmObject
  lifecycle: string
}

type ClientAudits = ReadonlyMap<string, CommittedVersion & { contributionId: string }>

/** Finds the audits that clients sent with versions, by the uids of the versions. */
export async function findClientAudits(
  database: Pick<Database, 'db'>,
  ehrIds: readonly string[],
  uids: readonly string[],
): Promise<ClientAudits> {
  const contributions = await documentCollection(database, Contribution.collection)
    .find({ ehrId: { $in: [...ehrIds] }, versions: { $in: [...uids] } })
    .toArray()
  return new Map(
    contributions.flatMap(({ _id: contributionId, json }) =>
      (JSON.parse(String(json)).versions as CommittedVersion[]).map(
        (one) => [one.uid, { ...one, contributionId }] as const,
      ),
    ),
  )
}

/** Adds its contribution to an ORIGINAL_VERSION, and the audit that a client sent with it. */
export function addClientAudit(
  object: RmObject,
  { id, version }: { id: string; version: number },
  clientAudits: ClientAudits,
): RmObject {
  const commit = clientAudits.get(versionUidOf({ id, version }))
  const contribution = { _type: 'HIER_OBJECT_ID', value: commit?.contributionId ?? `${id}::${version}` }
  const { _type, uid, ...rest } = object
  return {
    _type,
    contribution: objectRef(contribution, 'CONTRIBUTION'),
    uid,
    ...rest,
    ...(commit && { commit_audit: commit.audit, lifecycle_state: lifecycleState(commit.lifecycle) }),
  }
}

const lifecycleState = (code: string): RmObject => codedText(COMMIT_CODES[code] ?? '', code)
