import type { Db } from 'mongodb'
import { versionUidOf } from '../../../records/compositions/composition-record.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { findHistories, type HistoryEntry } from '../../../records/store/writing/history.ts'
import { describeVersion, findDescribedCommits } from '../../contributions/described-commits.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { toOriginalVersion } from '../../versions/original-version.ts'
import type { DocumentVersion } from '../evaluation/ehr-tree.ts'
import type { QueryPlan } from '../plan/planner.ts'

/** Builds the RM object of one version of a record. */
export type RmObjectReader = (version: ParseDocument) => RmObject | undefined

/** A record that a scan has found; builds its documents only when they are needed. */
export interface ScannedRecord {
  ehrId: string
  documents(): DocumentVersion[]
}

/** The current documents of a collection's records. */
interface RecordsToScan {
  collection: string
  of: readonly ParseDocument[]
  objectOf: RmObjectReader
}

const ehrIdOfRecord = ({ ehrId }: ParseDocument): string => String(ehrId)

/** Reads the latest or all versions of records; wraps each in an ORIGINAL_VERSION if the query needs it. */
export async function* scanVersions(
  db: Db,
  { versions, audited }: Pick<QueryPlan, 'versions' | 'audited'>,
  { collection, of, objectOf }: RecordsToScan,
): AsyncGenerator<ScannedRecord[]> {
  if (!audited) {
    yield of.map((now) => ({
      ehrId: ehrIdOfRecord(now),
      documents: () => {
        const object = objectOf(now)
        return object ? [{ record: now._id, object, latest: true }] : []
      },
    }))
    return
  }
  for (const some of versions === 'all' ? toBatches(of) : [of]) {
    const keys = some.map((now) => ({ collection, id: now._id, ehrId: ehrIdOfRecord(now) }))
    const fields = [
      'version',
      'at',
      'userId',
      'action',
      ...(versions === 'all' ? ['before' as const] : []),
    ] as const
    const changes = await findHistories(db, keys, MAX_VERSIONS, fields)
    const found = some.map((now) => toRecordVersions(now, changes.get(now._id) ?? []))
    const ehrIds = new Set(some.map(ehrIdOfRecord))
    const uids = found.flatMap((versions) => versions.map(({ head }) => versionUidOf(head)))
    const commits = await findDescribedCommits({ db }, [...ehrIds], uids)
    yield found.map((recordVersions, i) => ({
      ehrId: ehrIdOfRecord(some[i] as ParseDocument),
      documents: () =>
        recordVersions.map(({ document, head, change, latest }) => ({
          record: document._id,
          object: objectOf(document),
          latest,
          version: describeVersion(toOriginalVersion(head, change), head, commits),
        })),
    }))
  }
}

/** Versions in one batch; the versions of one record always stay together. */
const VERSIONS_PER_BATCH = 200

function toBatches(records: readonly ParseDocument[]): ParseDocument[][] {
  const steps: ParseDocument[][] = []
  let room = 0
  for (const record of records) {
    if (record.version > room) {
      steps.push([])
      room = VERSIONS_PER_BATCH
    }
    steps.at(-1)?.push(record)
    room -= record.version
  }
  return steps
}

type VersionAuthorship = Pick<HistoryEntry, 'version' | 'at' | 'userId' | 'action'> &
  Partial<Pick<HistoryEntry, 'before'>>

const toVersionHead = ({ _id: id, version, _updated_at: updatedAt }: ParseDocument) => ({
  id,
  version,
  updatedAt,
})

/** The versions of a record, each with its change. */
function toRecordVersions(now: ParseDocument, changes: readonly VersionAuthorship[]) {
  const changesByVersion = new Map(changes.map((change) => [change.version, change]))
  const former = changes.flatMap(({ before }) => before ?? [])
  return [...former, now].map((document) => ({
    document,
    head: toVersionHead(document),
    change: changesByVersion.get(document.version),
    latest: document === now,
  }))
}

const MAX_VERSIONS = 10_000
