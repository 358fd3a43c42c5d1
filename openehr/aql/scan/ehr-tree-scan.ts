import type { Db } from 'mongodb'
import type { Caller } from '../../../records/store/documents/caller.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import type { CompositionView } from '../../composition-views/composition-view.ts'
import { buildEhrTree, type EhrTree } from '../evaluation/ehr-tree.ts'
import type { QueryPlan } from '../plan/planner.ts'
import {
  planCompositionSearch,
  readCompositionBatches,
  readVersionsOf,
  requireEhrFitsInMemory,
  scanCompositions,
} from './composition-scan.ts'
import { scanDirectories } from './directory-scan.ts'
import { type EhrScan, ehrWithIdOnly, type ScannedEhr } from './ehr-scan.ts'
import type { ScannedRecord } from './version-scan.ts'
import { scanViews, scanViewsByEhr } from './view-scan.ts'

/** The parameters of a scan. */
export interface ScanOptions {
  db: Db
  caller: Caller
  plan: QueryPlan
  /** Records that are shown as compositions. */
  views: readonly CompositionView[]
  ehrs: EhrScan
  /** Whether the query needs more of the EHR than its id. */
  needsEhr: boolean
}

/** Yields the EHR trees of a query, restricted to what the caller may read. */
export async function* scanEhrTrees(reading: ScanOptions): AsyncGenerator<EhrTree> {
  const withheldIds = await reading.ehrs.withheldIds()
  for await (const tree of scanAllEhrTrees(reading)) if (!withheldIds.has(tree.ehrId)) yield tree
}

async function* scanAllEhrTrees(reading: ScanOptions): AsyncGenerator<EhrTree> {
  const { db, caller, plan, ehrs } = reading
  if (plan.unit === 'ehr') {
    for await (const batch of ehrs.batches()) yield* scanWholeEhrs(reading, batch)
    return
  }
  if (plan.statuses)
    for await (const batch of ehrs.batches())
      for (const { id, object, statuses } of batch)
        for (const status of statuses) yield buildEhrTree(object, id, [status])
  if (!plan.compositions) return
  const ids = await ehrs.ids()
  if (ids?.length === 0) return
  yield* scanSingleDocuments(reading, scanCompositions(db, plan, planCompositionSearch(plan, caller, ids)))
  yield* scanSingleDocuments(reading, scanViews(reading, ids))
}

/** Yields each composition as a tree of its own. */
export async function* scanSingleDocuments(
  { needsEhr, ehrs }: ScanOptions,
  batches: AsyncGenerator<ScannedRecord[]>,
): AsyncGenerator<EhrTree> {
  for await (const batch of batches) {
    const ehrsById = needsEhr ? await ehrs.get([...new Set(batch.map(({ ehrId }) => ehrId))]) : undefined
    for (const { ehrId, documents } of batch) {
      const object = ehrsById ? ehrsById.get(ehrId)?.object : ehrWithIdOnly(ehrId)
      if (object === undefined) continue
      for (const document of documents()) yield buildEhrTree(object, ehrId, [document])
    }
  }
}

/** Yields each EHR with all its documents that can match. */
async function* scanWholeEhrs(reading: ScanOptions, batch: readonly ScannedEhr[]): AsyncGenerator<EhrTree> {
  const { db, caller, plan } = reading
  const ids = batch.map(({ id }) => id)
  const foundIds = plan.compositions
    ? readCompositionBatches(db, planCompositionSearch(plan, caller, ids))
    : noRecords()
  const ofViews = plan.compositions ? await scanViewsByEhr(reading, ids) : new Map()
  const folders = await scanDirectories(reading, ids)
  const groups = groupByEhr(foundIds)
  let next = await groups.next()
  for (const { id, object, statuses } of batch) {
    const documents = [...statuses, ...(ofViews.get(id) ?? [])]
    if (!next.done && next.value.ehrId === id) {
      for await (const versionBatch of readVersionsOf(db, plan, next.value.records))
        documents.push(...versionBatch.flatMap((one) => one.documents()))
      next = await groups.next()
    }
    yield buildEhrTree(object, id, documents, folders.get(id))
  }
}

async function* noRecords(): AsyncGenerator<ParseDocument[]> {}

/** Groups records by EHR; they must arrive sorted by EHR. */
async function* groupByEhr(
  batches: AsyncGenerator<ParseDocument[]>,
): AsyncGenerator<{ ehrId: string; records: ParseDocument[] }> {
  let records: ParseDocument[] = []
  for await (const batch of batches)
    for (const record of batch) {
      const [first] = records
      if (first && first.ehrId !== record.ehrId) {
        yield { ehrId: String(first.ehrId), records }
        records = []
      }
      records.push(record)
      if (records.length % 100 === 0) requireEhrFitsInMemory(records)
    }
  const [first] = records
  if (first) yield { ehrId: String(first.ehrId), records }
}
