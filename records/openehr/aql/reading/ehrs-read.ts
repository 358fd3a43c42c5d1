import type { Db } from 'mongodb'
import { removedEhrs } from '../../../ehrs/removal/removed.ts'
import { type Unnamed, unnamedFor } from '../../../ehrs/rights/anonymity.ts'
import { type Caller, permitted } from '../../../store/documents/caller.ts'
import { documentsOf } from '../../../store/documents/database.ts'
import type { ParseDocument } from '../../../store/documents/parse-format.ts'
import { SYSTEM_ID } from '../../composition-record.ts'
import { statusIdOf, statusIn, statusInResponse, usualStatus } from '../../ehr-status/ehr-status.ts'
import { EhrStatus } from '../../ehr-status-record.ts'
import type { RmObject } from '../../rm/canonical.ts'
import type { Document } from '../evaluation/forest.ts'
import type { Filter } from '../filters.ts'
import { QUERY_MS } from '../pace.ts'
import type { Plan } from '../planner.ts'
import { versionsOf } from './versions.ts'

/** An EHR as queries see it, and the versions of its status that are asked for. */
export interface EhrRead {
  id: string
  object: RmObject
  statuses: Document[]
}

/** EHRs that are read at once. */
const BATCH = 100

/** The EHRs that a caller may read, as queries see them. */
export class EhrsRead {
  readonly #db: Db
  readonly #caller: Caller
  readonly #plan: Plan
  #unnamed: Unnamed | undefined

  constructor(db: Db, caller: Caller, plan: Plan) {
    this.#db = db
    this.#caller = caller
    this.#plan = plan
  }

  /** Their ids, as far as the plan does not leave them out; undefined: the caller may read all. */
  async ids(): Promise<string[] | undefined> {
    if (this.#caller.unrestricted) return this.#plan.ehrs === undefined ? undefined : named(this.#plan.ehrs)
    const found = this.#find().project<{ _id: string }>({ _id: 1 })
    return (await found.toArray()).map(({ _id }) => _id).sort()
  }

  /** Those that take no part in queries over all EHRs: their status says so, or they are gone, for as long as that can be undone. */
  async withheld(): Promise<ReadonlySet<string>> {
    if (!this.#caller.unrestricted) return new Set()
    const found = documentsOf({ db: this.#db }, EhrStatus.collection).find({ isQueryable: false })
    const [told, removed] = await Promise.all([
      found.project<{ ehrId: string }>({ ehrId: 1 }).toArray(),
      removedEhrs({ db: this.#db })
        .find({}, { projection: { _id: 1 } })
        .toArray(),
    ])
    return new Set([...told.map(({ ehrId }) => ehrId), ...removed.map(({ _id }) => _id)])
  }

  /** All of them, by their ids, some at a time. */
  async *batches(): AsyncGenerator<EhrRead[]> {
    let batch: ParseDocument[] = []
    for await (const one of this.#find().sort({ _id: 1 })) {
      if (batch.push(one) < BATCH) continue
      yield this.#read(batch)
      batch = []
    }
    if (batch.length > 0) yield this.#read(batch)
  }

  /** Those of these ids. */
  async of(ids: readonly string[]): Promise<Map<string, EhrRead>> {
    const found = await documentsOf({ db: this.#db }, 'Ehr')
      .find({ _id: { $in: [...ids] } }, { maxTimeMS: QUERY_MS })
      .toArray()
    return new Map((await this.#read(found)).map((one) => [one.id, one]))
  }

  #find() {
    const filter = { ...this.#plan.ehrs, ...permitted('_rperm', this.#caller) }
    return documentsOf({ db: this.#db }, 'Ehr').find(filter, { maxTimeMS: QUERY_MS })
  }

  async #read(found: readonly ParseDocument[]): Promise<EhrRead[]> {
    this.#unnamed ??= await unnamedFor({ db: this.#db }, this.#caller)
    const records = await documentsOf({ db: this.#db }, EhrStatus.collection)
      .find({ ehrId: { $in: found.map(({ _id }) => _id) } }, { maxTimeMS: QUERY_MS })
      .toArray()
    const statuses = new Map(records.map((record) => [record.ehrId, record]))
    return Promise.all(found.map((ehr) => this.#ehrRead(ehr, statuses.get(ehr._id))))
  }

  async #ehrRead(ehr: ParseDocument, record: ParseDocument | undefined): Promise<EhrRead> {
    const { _id: id, _created_at, subjectId } = ehr
    const now = record ?? { ...ehr, _id: statusIdOf(id), version: 1, json: undefined }
    const unnamed = this.#unnamed?.has(id) ?? false
    const of = (version: ParseDocument) => {
      const object = version.json === undefined ? usualStatus(String(subjectId)) : statusIn(version)
      return statusInResponse(object, { id: now._id, version: version.version, unnamed })
    }
    const { versions, audited } = this.#plan
    const status = of(now)
    const statuses = audited
      ? await versionsOf(this.#db, { collection: EhrStatus.collection, ehrId: id, now }, versions, of)
      : [{ record: now._id, object: status, latest: true }]
    return { id, object: ehrObject(id, _created_at, status), statuses: this.#plan.statuses ? statuses : [] }
  }
}

const ehrObject = (id: string, created: Date, ehr_status: RmObject): RmObject => ({
  ...bareEhr(id),
  time_created: { _type: 'DV_DATE_TIME', value: created.toISOString() },
  ehr_status,
})

/** What of an EHR is known without reading it. */
export const bareEhr = (id: string): RmObject => ({
  _type: 'EHR',
  system_id: { _type: 'HIER_OBJECT_ID', value: SYSTEM_ID },
  ehr_id: { _type: 'HIER_OBJECT_ID', value: id },
})

/** The EHRs that a filter names, if it names some. */
function named(filter: Filter): string[] | undefined {
  const { _id, $and } = filter as { _id?: string | { $in: string[] }; $and?: Filter[] }
  if (typeof _id === 'string') return [_id]
  if (_id) return _id.$in
  return $and?.map(named).find((ids) => ids !== undefined)
}
