import type { Db } from 'mongodb'
import { SYSTEM_ID } from '../../../records/compositions/composition-record.ts'
import { EhrStatus, statusIdOf } from '../../../records/compositions/ehr-status-record.ts'
import { deletedEhrsOf } from '../../../records/ehrs/deletion/deleted-ehrs.ts'
import { type AnonymizedEhrIds, findAnonymizedEhrs } from '../../../records/ehrs/rights/anonymity.ts'
import type { SearchedEhrs } from '../../../records/ehrs/rights/query-accesses.ts'
import { EVERY_EHR } from '../../../records/store/audit/scopes.ts'
import { type Caller, permissionFilter } from '../../../records/store/documents/caller.ts'
import { documentCollection } from '../../../records/store/documents/database.ts'
import type { ParseDocument } from '../../../records/store/documents/parse-format.ts'
import { defaultStatus, parseStatusRecord, toStatusResponse } from '../../ehr-status/ehr-status.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import { dvDateTime } from '../../versions/original-version.ts'
import type { DocumentVersion } from '../evaluation/ehr-tree.ts'
import type { DatabaseFilter } from '../plan/database-filters.ts'
import type { QueryPlan } from '../plan/planner.ts'
import { AQL_TIMEOUT_MS } from '../timeout.ts'
import { type RmObjectReader, scanVersions } from './version-scan.ts'

/** An EHR as queries see it, with the requested versions of its status. */
export interface ScannedEhr {
  id: string
  object: RmObject
  statuses: DocumentVersion[]
}

/** Number of EHRs in one batch. */
const EHRS_PER_BATCH = 100

/** The EHRs that a caller may read, as queries see them. */
export class EhrScan {
  readonly #db: Db
  readonly #caller: Caller
  readonly #plan: QueryPlan
  #unnamed: AnonymizedEhrIds | undefined
  #ids: Promise<string[]> | undefined
  readonly #findWithheld: () => Promise<ReadonlySet<string>>
  #withheldIds: Promise<ReadonlySet<string>> | undefined

  /** @param findWithheld finds what {@link findWithheldEhrs} does */
  constructor(db: Db, caller: Caller, plan: QueryPlan, findWithheld: () => Promise<ReadonlySet<string>>) {
    this.#db = db
    this.#caller = caller
    this.#plan = plan
    this.#findWithheld = findWithheld
  }

  /** Ids of the EHRs that can match; undefined: the caller may read all EHRs. */
  async ids(): Promise<string[] | undefined> {
    if (this.#caller.unrestricted) return this.#plan.ehrs === undefined ? undefined : this.#namedIds()
    this.#ids ??= this.#find()
      .project<{ _id: string }>({ _id: 1 })
      .toArray()
      .then((ehrs) => ehrs.map(({ _id }) => _id).sort())
    return this.#ids
  }

  /** The EHRs that the query could find, for the audit. */
  async findSearchedEhrs(): Promise<SearchedEhrs> {
    const namedIds = this.#namedIds()
    const readable = await this.ids()
    const withheldIds = await this.withheldIds()
    const ehrIds = readable ?? namedIds
    if (ehrIds === undefined) return { searched: [EVERY_EHR], denied: [] }
    const searched = ehrIds.filter((id) => !withheldIds.has(id))
    return { searched, denied: (namedIds ?? []).filter((id) => !searched.includes(id)) }
  }

  /** The EHRs that queries over all EHRs leave out. */
  withheldIds(): Promise<ReadonlySet<string>> {
    this.#withheldIds ??= this.#caller.unrestricted ? this.#findWithheld() : Promise.resolve(new Set())
    return this.#withheldIds
  }

  #namedIds(): string[] | undefined {
    return this.#plan.ehrs && ehrIdsInFilter(this.#plan.ehrs)
  }

  /** All EHRs, sorted by id, in batches. */
  async *batches(): AsyncGenerator<ScannedEhr[]> {
    let batch: ParseDocument[] = []
    for await (const one of this.#find().sort({ _id: 1 })) {
      if (batch.push(one) < EHRS_PER_BATCH) continue
      yield this.#read(batch)
      batch = []
    }
    if (batch.length > 0) yield this.#read(batch)
  }

  /** The EHRs with these ids. */
  async get(ids: readonly string[]): Promise<Map<string, ScannedEhr>> {
    const documents = await documentCollection({ db: this.#db }, 'Ehr')
      .find({ _id: { $in: [...ids] } }, { maxTimeMS: AQL_TIMEOUT_MS })
      .toArray()
    return new Map((await this.#read(documents)).map((one) => [one.id, one]))
  }

  #find() {
    const filter = { ...this.#plan.ehrs, ...permissionFilter('_rperm', this.#caller) }
    return documentCollection({ db: this.#db }, 'Ehr').find(filter, { maxTimeMS: AQL_TIMEOUT_MS })
  }

  async #read(documents: readonly ParseDocument[]): Promise<ScannedEhr[]> {
    this.#unnamed ??= await findAnonymizedEhrs({ db: this.#db }, this.#caller)
    const records = await documentCollection({ db: this.#db }, EhrStatus.collection)
      .find({ ehrId: { $in: documents.map(({ _id }) => _id) } }, { maxTimeMS: AQL_TIMEOUT_MS })
      .toArray()
    const recordsByEhr = new Map(records.map((record) => [record.ehrId, record]))
    const toFirstStatus = ({ _id: id, ...ehr }: ParseDocument): ParseDocument => ({
      ...ehr,
      _id: statusIdOf(id),
      ehrId: id,
      version: 1,
      json: undefined,
    })
    const statuses = documents.map((ehr) => recordsByEhr.get(ehr._id) ?? toFirstStatus(ehr))
    const subjects = new Map(documents.map(({ _id, subjectId }) => [_id, String(subjectId)]))
    const objectOf = (version: ParseDocument) => this.#statusIn(version, subjects)
    const versions = await this.#versionsOf(statuses, objectOf)
    return documents.map(({ _id: id, _created_at }, i) => ({
      id,
      object: toEhrObject(id, _created_at, objectOf(statuses[i] as ParseDocument)),
      statuses: versions.get(id) ?? [],
    }))
  }

  #statusIn(record: ParseDocument, subjects: ReadonlyMap<unknown, string>): RmObject {
    const { _id: id, version } = record
    const ehrId = String(record.ehrId)
    const object =
      record.json === undefined ? defaultStatus(subjects.get(ehrId) ?? '') : parseStatusRecord(record)
    const subjectId = this.#unnamed?.has(ehrId) ? undefined : (subjects.get(ehrId) ?? '')
    return toStatusResponse(object, { id, version, subjectId })
  }

  /** The requested versions of the statuses, by EHR. */
  async #versionsOf(
    currentDocuments: readonly ParseDocument[],
    objectOf: RmObjectReader,
  ): Promise<Map<string, DocumentVersion[]>> {
    const versionsByEhr = new Map<string, DocumentVersion[]>()
    if (!this.#plan.statuses) return versionsByEhr
    for await (const batch of scanVersions(this.#db, this.#plan, {
      collection: EhrStatus.collection,
      currentDocuments,
      objectOf,
    }))
      for (const { ehrId, documents } of batch) versionsByEhr.set(ehrId, documents())
    return versionsByEhr
  }
}

const toEhrObject = (id: string, createdAt: Date, ehr_status: RmObject): RmObject => ({
  ...ehrWithIdOnly(id),
  time_created: dvDateTime(createdAt),
  ehr_status,
})

/**
 * Finds the EHRs that queries over all EHRs leave out: by their status, because their subject has not accepted them, or
 * because they are deleted and can still be restored. One command, since each of these queries begins with it.
 */
export async function findWithheldEhrs(db: Db): Promise<ReadonlySet<string>> {
  const select = (_id: unknown) => ({ $project: { _id } })
  const notQueryable = [{ $match: { isQueryable: false } }, select('$ehrId')]
  const pipeline = [
    { $match: { pending: true } },
    select(1),
    { $unionWith: { coll: EhrStatus.collection, pipeline: notQueryable } },
    { $unionWith: { coll: deletedEhrsOf({ db }).collectionName, pipeline: [select(1)] } },
  ]
  const withheldEhrs = documentCollection({ db }, 'Ehr').aggregate<{ _id: string }>(pipeline)
  return new Set((await withheldEhrs.toArray()).map(({ _id }) => _id))
}

/** The attributes of an EHR that are known without reading it. */
export const ehrWithIdOnly = (id: string): RmObject => ({
  _type: 'EHR',
  system_id: { _type: 'HIER_OBJECT_ID', value: SYSTEM_ID },
  ehr_id: { _type: 'HIER_OBJECT_ID', value: id },
})

/** The EHRs that a filter names; undefined if it names none. */
function ehrIdsInFilter(filter: DatabaseFilter): string[] | undefined {
  const { _id, $and } = filter as { _id?: string | { $in: string[] }; $and?: DatabaseFilter[] }
  if (typeof _id === 'string') return [_id]
  if (_id) return _id.$in
  return $and?.map(ehrIdsInFilter).find((ids) => ids !== undefined)
}
