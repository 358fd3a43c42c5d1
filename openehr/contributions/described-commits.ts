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

type DescribedCommits = ReadonlyMap<string, CommittedVersion & { contributionId: string }>

/** What clients said about versions, by the uids of these. */
export async function findDescribedCommits(
  database: Pick<Database, 'db'>,
  ehrIds: readonly string[],
  uids: readonly string[],
): Promise<DescribedCommits> {
  const found = await documentCollection(database, Contribution.collection)
    .find({ ehrId: { $in: [...ehrIds] }, versions: { $in: [...uids] } })
    .toArray()
  return new Map(
    found.flatMap(({ _id: contributionId, json }) =>
      (JSON.parse(String(json)).versions as CommittedVersion[]).map(
        (one) => [one.uid, { ...one, contributionId }] as const,
      ),
    ),
  )
}

/** Adds the contribution to an ORIGINAL_VERSION, and what a client said about the version. */
export function describeVersion(
  object: RmObject,
  { id, version }: { id: string; version: number },
  commits: DescribedCommits,
): RmObject {
  const commit = commits.get(versionUidOf({ id, version }))
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
