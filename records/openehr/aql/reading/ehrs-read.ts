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
import { foundIn, type ObjectOf } from './versions.ts'

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
    const known = new Map(records.map((record) => [record.ehrId, record]))
    const unreplaced = ({ _id: id, ...ehr }: ParseDocument): ParseDocument => ({
      ...ehr,
      _id: statusIdOf(id),
      ehrId: id,
      version: 1,
      json: undefined,
    })
    const statuses = found.map((ehr) => known.get(ehr._id) ?? unreplaced(ehr))
    const subjects = new Map(found.map(({ _id, subjectId }) => [_id, String(subjectId)]))
    const objectOf = (version: ParseDocument) => this.#statusIn(version, subjects)
    const versions = await this.#versionsOf(statuses, objectOf)
    return found.map(({ _id: id, _created_at }, i) => ({
      id,
      object: ehrObject(id, _created_at, objectOf(statuses[i] as ParseDocument)),
      statuses: versions.get(id) ?? [],
    }))
  }

  #statusIn(record: ParseDocument, subjects: ReadonlyMap<unknown, string>): RmObject {
    const { _id: id, version } = record
    const ehrId = String(record.ehrId)
    const object = record.json === undefined ? usualStatus(subjects.get(ehrId) ?? '') : statusIn(record)
    return statusInResponse(object, { id, version, unnamed: this.#unnamed?.has(ehrId) ?? false })
  }

  /** Those that are asked for, by their EHRs. */
  async #versionsOf(of: readonly ParseDocument[], objectOf: ObjectOf): Promise<Map<string, Document[]>> {
    const asked = new Map<string, Document[]>()
    if (!this.#plan.statuses) return asked
    for await (const some of foundIn(this.#db, this.#plan, {
      collection: EhrStatus.collection,
      of,
      objectOf,
    }))
      for (const { ehrId, documents } of some) asked.set(ehrId, documents())
    return asked
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
