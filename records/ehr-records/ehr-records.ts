import type { Static, TObject, TProperties } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { fromPathNames, markedFieldNames, memoizeByFields } from '../../schemas/forms/fields.ts'
import { withUtcOffset } from '../../schemas/forms/iso-time.ts'
import {
  hideContents,
  isContainerClass,
  showContents,
  waitForDeletion,
} from '../ehrs/deletion/cascading-deletion.ts'
import { findParticipantPlans } from '../ehrs/rights/read-scope.ts'
import type { Caller } from '../store/documents/caller.ts'
import { documentCollection } from '../store/documents/database.ts'
import type { SavedRecord } from '../store/documents/parse-format.ts'
import type { ListDefinition, Page, PageQuery, PageRequest } from '../store/reading/pages.ts'
import type { Resource } from '../store/resource.ts'
import { type RecordHistoryEntry, Store } from '../store/store.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { type ClassKind, resolveRules } from './kind.ts'
import {
  insertTargetFor,
  lockEhrExclusively,
  type ParentIds,
  parentFinderIn,
  resolveParent,
  returnTargetFor,
  runWithEhrLock,
} from './parents.ts'
import { validateChangedRecord, validateNewRecord } from './record-validation.ts'
import { hasCapacityLimit, requireCapacity } from './refusals/capacity.ts'
import { auditRefusal, requireNoViolations } from './refusals/refusals.ts'

/** The id and the parents from the path; all of them must match. */
export interface EhrRecordKey {
  id: string
  ehrId: string
  carePlanId?: string | undefined
  goalId?: string | undefined
}

/** Conditions and transaction of a write. */
export interface WriteOptions {
  /** An earlier attempt of the same request may have succeeded. */
  isRetry?: boolean
  expected?: ExpectedVersions
  tx?: Transaction | undefined
}

/** A request body; null means absent. */
type RecordBody = Record<string, unknown>

/** Removes properties that are null or undefined. */
export const withoutNulls = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], null> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], null>
  }

export const defaultsOf = memoizeByFields(
  (fields): RecordBody =>
    Object.fromEntries(
      Object.entries(fields).flatMap(([name, { default: value }]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
)

const withUtcOffsetIn = (fields: TProperties, values: RecordBody): RecordBody =>
  'utcOffset' in fields ? withUtcOffset(values) : values

/** Stored form of a body: its values without nulls, and defaults for missing fields. */
const withDefaults = (fields: TProperties, body: object): RecordBody => ({
  ...defaultsOf(fields),
  ...withUtcOffsetIn(fields, withoutNulls(fromPathNames(fields, body))),
})

/** The initial status of a new record, if the kind has one. */
const initialStatusOf = memoizeByFields((fields) =>
  Object.fromEntries(markedFieldNames(fields, 'status').map((name) => [name, 'ACTIVE'])),
)

/** Filter of a list; times and days have the format of the list's sort field. */
export interface RecordFilter {
  carePlanId?: string | undefined
  /** Inclusive. */
  from?: string | undefined
  /** Exclusive. */
  to?: string | undefined
  /** Values of the kind's own filters. */
  [filter: string]: string | undefined
}

/** A kind as its store needs it. */
export type EhrRecordKind<S extends TObject, L extends string> = Omit<ClassKind, 'schema' | 'lists' | 'ehr'> &
  Resource<S, L>

/** The records of one kind in EHRs, with the behaviour that all kinds share. */
export class EhrRecords<S extends TObject, L extends string> {
  readonly kind: EhrRecordKind<S, L>
  readonly store: Store<S, L>
  readonly #records: StoreContext

  constructor(records: StoreContext, kind: EhrRecordKind<S, L>) {
    this.#records = records
    this.kind = kind
    this.store = new Store(records, kind)
  }

  /** The collections and their indexes, which the service creates on startup. */
  indexes(): [collection: string, IndexDescription[]][] {
    return [this.store.indexes()]
  }

  /**
   * Lists the records that the caller may read, in the kind's order.
   * @throws NotFound when the caller may not read the EHR or the plan
   */
  async list(
    caller: Caller,
    ehrId: string,
    { carePlanId, from, to, ...query }: RecordFilter,
    page: PageRequest,
  ): Promise<Page<SavedRecord<Static<S>>>> {
    const either = await this.#searchScopes(caller, { ehrId, carePlanId })
    const name = (carePlanId === undefined ? 'ofEhr' : 'ofPlan') as L
    const own = Object.entries(this.kind.filters ?? {}).flatMap(([filter, { where }]) => {
      const value = query[filter]
      return value === undefined ? [] : Object.entries(where(value))
    })
    const where = {
      ...{ ehrId, carePlanId, [this.kind.lists[name].sort]: { from, to } },
      ...Object.fromEntries(own),
    }
    return this.store.list(caller, name, { where, either, ...page } as PageQuery<Static<S>>)
  }

  /**
   * The plans to search in place of the whole EHR, by the plans' index: the requested one, or those of a
   * caller who only takes part in plans.
   */
  async #searchScopes(caller: Caller, { ehrId, carePlanId }: ParentIds): Promise<object[] | undefined> {
    const { lists, outsidePlans } = this.kind
    const byPlan = (lists as Record<string, ListDefinition<Static<S>>>).ofPlan?.by.join() === 'carePlanId'
    const implied = { ehrId: { checked: ehrId } }
    if (carePlanId !== undefined) return byPlan ? [implied] : undefined
    if (!byPlan || !outsidePlans) return undefined
    const plans = await findParticipantPlans(this.#records, caller, ehrId)
    if (!plans) return undefined
    return [{ ...implied, carePlanId: plans.length === 1 ? plans[0] : { in: plans } }, outsidePlans]
  }

  /** @throws NotFound */
  get(caller: Caller, key: EhrRecordKey): Promise<SavedRecord<Static<S>>> {
    return this.store.get(caller, storeKeyOf(key))
  }

  /**
   * @param place the parents, from the request's path
   * @throws NotFound; Forbidden without write access to the EHR or the plan; RuleViolated
   */
  create(caller: Caller, place: ParentIds, body: object, id: string): Promise<SavedRecord<Static<S>>> {
    return createOrFindExisting(
      () =>
        auditRefusal(this.#records, caller, this.kind.collection, place.ehrId, () =>
          this.createIn(caller, place, body, id),
        ),
      () => this.get(caller, { id, ...place }),
    )
  }

  /** Creates a record, optionally within a transaction. It does not audit refusals. */
  async createIn(
    caller: Caller,
    place: ParentIds,
    body: object,
    id: string,
    tx?: Transaction,
  ): Promise<SavedRecord<Static<S>>> {
    const kind = this.kind as unknown as ClassKind
    const record = await this.buildRecord(place, body)
    if (!hasCapacityLimit(kind))
      return this.store.create(caller, record, insertTargetFor(kind, id, record), { id, tx })
    const work = (tx: Transaction) => this.#createLimited(tx, caller, record, id)
    return tx ? work(tx) : runStoreTransaction(this.#records, work)
  }

  /** Builds the record of a body, with its derived fields. @throws RuleViolated */
  async buildRecord(place: ParentIds, body: object): Promise<Static<S> & ParentIds> {
    const { fields } = this.kind
    const input = { ...withDefaults(fields, body), ...initialStatusOf(fields), ...place }
    const kind = await resolveRules(this.#records, this.kind as unknown as ClassKind, input)
    return validateNewRecord(kind, input) as Static<S> & ParentIds
  }

  /** Creates a record of a kind with limited number, which is counted under the exclusive lock of the EHR. */
  async #createLimited(
    tx: Transaction,
    caller: Caller,
    record: Static<S> & ParentIds,
    id: string,
  ): Promise<SavedRecord<Static<S>>> {
    const kind = this.kind as unknown as ClassKind
    const find = parentFinderIn(this.#records, tx.session)
    const { permissions } = await resolveParent(find, caller, kind, id, record)
    // Check the permissions first: a forbidden request must not make others wait for the lock.
    await lockEhrExclusively(this.#records, tx, record.ehrId)
    await requireCapacity(this.#records, kind, { ...record, id }, tx.session)
    return this.store.create(caller, record, permissions, { tx, id })
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: EhrRecordKey,
    body: object,
    options: WriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const given = withDefaults(this.kind.fields, body)
    return this.change(caller, key, (now) => ({ ...this.#unchangeableFields(now), ...given }), options)
  }

  /** @throws as replace */
  protected async change(
    caller: Caller,
    key: EhrRecordKey,
    change: (now: SavedRecord<Static<S>>) => object,
    { expected, tx }: WriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const kind = await this.#kindFor(key)
    const next = (now: SavedRecord<Static<S>>) => this.validateChange(caller, now, change(now), kind)
    return this.store.update(caller, storeKeyOf(key), next, { expected, tx })
  }

  /** The kind with the rules of one record. The fields that select the rules never change. */
  async #kindFor({ id }: EhrRecordKey): Promise<ClassKind> {
    const kind = this.kind as unknown as ClassKind
    if (!kind.rulesFor) return kind
    const found = await documentCollection(this.#records, kind.collection).findOne({ _id: id })
    return found ? resolveRules(this.#records, kind, found) : kind
  }

  /** Deletes a record and hides its contents, until it returns. @throws NotFound; Forbidden; PreconditionFailed */
  async remove(caller: Caller, key: EhrRecordKey, { expected }: WriteOptions): Promise<void> {
    const { collection } = this.kind
    if (!isContainerClass(collection)) return this.store.remove(caller, storeKeyOf(key), { expected })
    await runWithEhrLock(this.#records, key.ehrId, async (tx) => {
      await this.store.remove(caller, storeKeyOf(key), { expected, tx })
      await hideContents(this.#records, tx, caller, collection, key)
    })
    await waitForDeletion(this.#records, collection, key.id)
  }

  /** Lists the changes of a record, newest first. @throws NotFound */
  history(
    caller: Caller,
    key: EhrRecordKey,
    page: PageRequest,
  ): Promise<Page<RecordHistoryEntry<Static<S>>>> {
    return this.store.history(caller, storeKeyOf(key), page)
  }

  /**
   * Restores a former version; a deleted record returns with its contents.
   * @param onReturn completes the return of a deleted record, in the same transaction
   * @throws as replace; NotFound for an unknown version, and for a deleted record without its parent
   */
  async restore(
    caller: Caller,
    key: EhrRecordKey,
    version: number,
    { expected }: WriteOptions,
    onReturn?: (tx: Transaction) => Promise<void>,
  ): Promise<SavedRecord<Static<S>>> {
    const deleted = await this.store.findDeleted(caller, storeKeyOf(key))
    if (deleted) return this.#returnDeleted(caller, deleted, version, onReturn)
    const kind = await this.#kindFor(key)
    const rule = (now: SavedRecord<Static<S>>, former: SavedRecord<Static<S>>) =>
      this.validateChange(caller, now, { ...(former as object), ...this.#unchangeableFields(now) }, kind)
    return this.store.restore(caller, storeKeyOf(key), version, rule, { expected })
  }

  async #returnDeleted(
    caller: Caller,
    deleted: SavedRecord<Static<S>>,
    version: number,
    onReturn?: (tx: Transaction) => Promise<void>,
  ): Promise<SavedRecord<Static<S>>> {
    const kind = this.kind as unknown as ClassKind
    const record = deleted as SavedRecord<Static<S>> & ParentIds
    const { id, ehrId } = record
    const returned = await runWithEhrLock(this.#records, ehrId, async (tx) => {
      const parent = await returnTargetFor(parentFinderIn(this.#records, tx.session), kind, id, record)
      const rule = (former: SavedRecord<Static<S>>) =>
        ({ ...(former as object), ...this.#unchangeableFields(record) }) as Static<S>
      const back = await this.store.returnDeleted(caller, deleted, version, rule, { parent, tx })
      if (hasCapacityLimit(kind)) await requireCapacity(this.#records, kind, { ...record, id }, tx.session)
      if (isContainerClass(kind.collection))
        await showContents(this.#records, tx, caller, kind.collection, { id, ehrId })
      await onReturn?.(tx)
      return back
    })
    if (isContainerClass(kind.collection)) await waitForDeletion(this.#records, kind.collection, id)
    return returned
  }

  /** Checks a change and returns the new record with its derived fields. @throws RuleViolated */
  protected validateChange(
    caller: Caller,
    now: SavedRecord<Static<S>>,
    next: object,
    kind = this.kind as unknown as ClassKind,
  ): Static<S> {
    requireNoViolations(kind.reservedViolations?.(caller, now as RecordBody, next as RecordBody) ?? [])
    return validateChangedRecord(kind, now as object, withoutNulls(next)) as Static<S>
  }

  /** The fields that a replacement need not repeat. */
  #unchangeableFields(now: SavedRecord<Static<S>>): RecordBody {
    const { place, fields } = this.kind
    const names = [...Object.keys(place), ...markedFieldNames(fields, 'fixed', 'status')]
    return Object.fromEntries(names.map((name) => [name, (now as RecordBody)[name]]))
  }
}

/** The types cannot express that each kind has the fields of its parents. */
const storeKeyOf = (key: EhrRecordKey) => key as never
