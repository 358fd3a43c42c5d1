import type { Db, Filter } from 'mongodb'
import { Directory } from '../../../records/compositions/directory-record.ts'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { toFolder } from '../../directories/directories.ts'
import type { DocumentVersion } from '../evaluation/ehr-tree.ts'
import type { QueryPlan } from '../plan/planner.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'
import { scanVersions } from './version-scan.ts'

/** The requested versions of the directories of EHRs, by EHR; none if the query names no folder. */
export async function scanDirectories(
  { db, caller, plan }: { db: Db; caller: Caller; plan: QueryPlan },
  ehrIds: readonly string[],
): Promise<Map<string, DocumentVersion[]>> {
  const versionsByEhr = new Map<string, DocumentVersion[]>()
  if (!plan.folders) return versionsByEhr
  const readable = { ehrId: { $in: ehrIds }, ...permissionFilter('_rperm', caller) } as Filter<ParseDocument>
  const currentDocuments = await documentCollection({ db }, Directory.collection)
    .find(readable, { maxTimeMS: AQL_TIMEOUT_MS })
    .toArray()
  const objectOf = ({ _id: id, version, json }: ParseDocument) =>
    toFolder({ id, version, ...(typeof json === 'string' && { json }) })
  for await (const batch of scanVersions(db, plan, {
    collection: Directory.collection,
    currentDocuments,
    objectOf,
  }))
    for (const { ehrId, documents } of batch) versionsByEhr.set(ehrId, documents())
  return versionsByEhr
}
