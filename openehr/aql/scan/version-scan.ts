import type { Db } from 'mongodb'
import { versionUidOf } from '../../../records/compositions/composition-record.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { findHistories, type HistoryEntry } from '../../../records/store/writing/history.ts'
import { addClientAudit, findClientAudits } from '../../contributions/client-audits.ts'
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
  currentDocuments: readonly ParseDocument[]
  objectOf: RmObjectReader
}

const ehrIdOfRecord = ({ ehrId }: ParseDocument): string => String(ehrId)

/** Reads the latest or all versions of records; wraps each in an ORIGINAL_VERSION if the query needs it. */
export async function* scanVersions(
  db: Db,
  { versions, audited }: Pick<QueryPlan, 'versions' | 'audited'>,
  { collection, currentDocuments, objectOf }: RecordsToScan,
): AsyncGenerator<ScannedRecord[]> {
  if (!audited) {
    yield currentDocuments.map((current) => ({
      ehrId: ehrIdOfRecord(current),
      documents: () => {
        const object = objectOf(current)
        return object ? [{ record: current._id, object, latest: true }] : []
      },
    }))
    return
  }
  for (const batch of versions === 'all' ? toBatches(currentDocuments) : [currentDocuments]) {
    const keys = batch.map((current) => ({ collection, id: current._id, ehrId: ehrIdOfRecord(current) }))
    const fields = [
      'version',
      'at',
      'userId',
      'action',
      ...(versions === 'all' ? ['before' as const] : []),
    ] as const
    const changes = await findHistories(db, keys, MAX_VERSIONS, fields)
    const versionsByRecord = batch.map((current) => toRecordVersions(current, changes.get(current._id) ?? []))
    const ehrIds = new Set(batch.map(ehrIdOfRecord))
    const uids = versionsByRecord.flatMap((versions) => versions.map(({ head }) => versionUidOf(head)))
    const commits = await findClientAudits({ db }, [...ehrIds], uids)
    yield versionsByRecord.map((recordVersions, i) => ({
      ehrId: ehrIdOfRecord(batch[i] as ParseDocument),
      documents: () =>
        recordVersions.map(({ document, head, change, latest }) => ({
          record: document._id,
          object: objectOf(document),
          latest,
          version: addClientAudit(toOriginalVersion(head, change), head, commits),
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
function toRecordVersions(current: ParseDocument, changes: readonly VersionAuthorship[]) {
  const changesByVersion = new Map(changes.map((change) => [change.version, change]))
  const former = changes.flatMap(({ before }) => before ?? [])
  return [...former, current].map((document) => ({
    document,
    head: toVersionHead(document),
    change: changesByVersion.get(document.version),
    latest: document === current,
  }))
}

const MAX_VERSIONS = 10_000
