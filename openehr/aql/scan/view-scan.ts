import type { Db } from 'mongodb'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import { memoizeByObject } from '../../../schemas/forms/memoize.ts'
import type { CompositionView, ViewIndex } from '../../composition-views/composition-view.ts'
import { type FactRange, factPlace } from '../../compositions/facts.ts'
import type { DocumentVersion } from '../evaluation/ehr-tree.ts'
import { allOf, type DatabaseFilter, requiresField, translateFilter } from '../plan/database-filters.ts'
import type { QueryPlan } from '../plan/planner.ts'
import { START_PLACE } from '../plan/query-places.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'
import { areMany, MAX_COUNTED } from './composition-scan.ts'
import { type ScannedRecord, scanVersions } from './version-scan.ts'

/** Number of records in one batch. */
const RECORDS_PER_BATCH = 200

interface ViewScanOptions {
  db: Db
  caller: Caller
  plan: QueryPlan
  views: readonly CompositionView[]
}

/** A search for the records of one view: index and filter. */
export interface ViewSearch {
  view: CompositionView
  index: ViewIndex
  filter: DatabaseFilter
}

type EhrIds = readonly string[] | undefined

/** The searches for the views whose records can match. */
export const planViewSearches = (
  { caller, plan, views }: Omit<ViewScanOptions, 'db'>,
  ehrIds: EhrIds,
): ViewSearch[] =>
  views.flatMap((view) => {
    const candidates = plan.compositions && toRecordFilter(plan, view)
    if (candidates === false) return []
    const ehrFilter = ehrIds && { ehrId: { $in: [...ehrIds] } }
    const viewFilter = candidates === true ? undefined : candidates
    const shownFilter = view.filters?.shown as DatabaseFilter | undefined
    const filter = allOf([shownFilter, ehrFilter, viewFilter, permissionFilter('_rperm', caller)]) ?? {}
    return [{ view, filter, index: areMany(ehrIds) ? chooseIndex(view, filter) : view.ehrIndex }]
  })

/** An index on values first, then one on times. */
function chooseIndex(view: CompositionView, filter: DatabaseFilter): ViewIndex {
  const required = [...view.values.map(({ field }) => field), view.startField].find(
    (field) => view.indexOf(field) !== undefined && requiresField(filter, field),
  )
  return (required !== undefined && view.indexOf(required)) || view.ehrIndex
}

/** The record fields by their places in the compositions of a view. */
export const fieldsByPlace = memoizeByObject(
  ({ archetype, values, startField }: CompositionView): Readonly<Record<string, string>> => ({
    ...Object.fromEntries(
      values.map(({ path, nodeId, field }) => [factPlace(archetype, path, nodeId), field]),
    ),
    [START_PLACE]: startField,
  }),
)

/** Whether a field has Dates. */
export const isTimeField = ({ startField }: CompositionView, field: string): boolean => field === startField

/** Translates a plan's filters on compositions to the records of a view; false: none can match. */
function toRecordFilter(
  { candidates = {}, facts = {} }: QueryPlan,
  view: CompositionView,
): DatabaseFilter | boolean {
  const head: Readonly<Record<string, string | readonly string[]>> = { ...view.head }
  const fields = fieldsByPlace(view)
  return translateFilter({ $and: [candidates, facts] }, (name, condition) => {
    const field = fields[name]
    const values = head[name]
    if (field !== undefined)
      return { [field]: isTimeField(view, field) ? toDateRange(condition as FactRange) : condition }
    if (values === undefined) return isRecordField(name) && { [name]: condition }
    const allowedValues = typeof condition === 'string' ? [condition] : (condition as { $in: string[] }).$in
    return allowedValues.some((one) => [values].flat().includes(one))
  })
}

/** A condition on any other place never holds for this view. */
const isRecordField = (name: string): boolean => name === '_id' || name === 'ehrId'

export const toDateRange = (range: FactRange) =>
  Object.fromEntries(Object.entries(range).map(([end, timeMs]: [string, number]) => [end, new Date(timeMs)]))

const findRecords = (db: Db, { view, filter, index }: ViewSearch) => {
  const documents = documentCollection({ db }, view.kind.collection)
    .find(filter, { maxTimeMS: AQL_TIMEOUT_MS, batchSize: RECORDS_PER_BATCH })
    .hint(index.key)
  return index.name === view.ehrIndex.name
    ? documents.sort({ ehrId: 1, [view.startField]: -1, _id: -1 })
    : documents
}

export const countShownRecords = (db: Db, { view, filter, index }: ViewSearch): Promise<number> =>
  documentCollection({ db }, view.kind.collection).countDocuments(filter, {
    maxTimeMS: AQL_TIMEOUT_MS,
    limit: MAX_COUNTED,
    hint: index.key,
  })

/** Reads records as compositions, view by view: in the order of an index on values or time, otherwise by EHR. */
export async function* scanViews(reading: ViewScanOptions, ehrIds: EhrIds): AsyncGenerator<ScannedRecord[]> {
  const { db, plan } = reading
  for (const search of planViewSearches(reading, ehrIds)) {
    const records = findRecords(db, search)
    const { kind, toComposition } = search.view
    let documents: ParseDocument[] = []
    const scan = () =>
      scanVersions(db, plan, {
        collection: kind.collection,
        currentDocuments: documents,
        objectOf: toComposition,
      })
    try {
      for await (const record of records) {
        if (documents.push(record) < RECORDS_PER_BATCH) continue
        yield* scan()
        documents = []
      }
      yield* scan()
    } finally {
      await records.close()
    }
  }
}

/** Limit for records in memory, when whole EHRs are evaluated. */
const MAX_RECORDS_IN_MEMORY = 20_000

/** The records of some EHRs, by EHR. @throws DeadlineExceeded when they exceed the limit */
export async function scanViewsByEhr(
  ...args: Parameters<typeof scanViews>
): Promise<Map<string, DocumentVersion[]>> {
  const versionsByEhr = new Map<string, DocumentVersion[]>()
  let count = 0
  for await (const batch of scanViews(...args))
    for (const one of batch) {
      const documents = one.documents()
      count += documents.length
      if (count > MAX_RECORDS_IN_MEMORY)
        throw new ServiceError('DeadlineExceeded', {
          detail: 'The query combines too many measurements. Name their archetypes in FROM.',
        })
      const versions = versionsByEhr.get(one.ehrId)
      if (versions) versions.push(...documents)
      else versionsByEhr.set(one.ehrId, documents)
    }
  return versionsByEhr
}
