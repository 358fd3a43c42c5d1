import type { Static, TObject } from '@sinclair/typebox'
import type { ClientSession, Filter, IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { fromPathNames, markedFieldNames } from '../../schemas/forms/fields.ts'
import { requireNoDeletedParent } from '../ehrs/deletion/deleted-parents.ts'
import { findHiddenRecords } from '../ehrs/deletion/hidden-contents.ts'
import { findParticipantPlans } from '../ehrs/rights/read-scope.ts'
import type { Caller } from '../store/documents/caller.ts'
import { canRead, documentCollection } from '../store/documents/database.ts'
import type { ParseDocument, SavedRecord } from '../store/documents/parse-format.ts'
import type { ListDefinition, Page, PageQuery, PageRequest } from '../store/reading/pages.ts'
import type { Resource } from '../store/resource.ts'
import { type RecordHistoryEntry, Store } from '../store/store.ts'
import type { ExpectedVersions, WrittenRecord } from '../store/write-decider.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import {
  type AuditedReads,
  runWithin,
  type StoreContext,
  type Transaction,
} from '../store/writing/transaction.ts'
import { deleteWithContents, type OnReturn, returnWithContents } from './deletion-with-contents.ts'
import { type ClassKind, resolveRules, type Values } from './kind.ts'
import { lockEhrExclusively } from './parents/exclusive-ehr-lock.ts'
import {
  insertTargetFor,
  type ParentIds,
  parentFinderIn,
  resolveParent,
  returnTargetFor,
} from './parents/parents.ts'
import { hasCapacityLimit, requireCapacity } from './refusals/capacity.ts'
import { auditRefusedCreation, requireNoViolations } from './refusals/refusals.ts'
import {
  defaultsOf,
  initialStatusOf,
  type RecordBody,
  withDefaults,
  withoutNulls,
} from './validation/record-bodies.ts'
import { validateChangedRecord, validateNewRecord } from './validation/record-validation.ts'

/** The id and the parents from the path; all of them must match. */
export interface EhrRecordKey {
  id: string
  ehrId: string
  carePlanId?: string | undefined
  goalId?: string | undefined
}

/** Conditions and transaction of a write. */
export interface EhrWriteOptions {
  /** An earlier attempt of the same request may have succeeded. */
  isRetry?: boolean
  expected?: ExpectedVersions
  tx?: Transaction | undefined
}

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

/** Any conditions on the records of some EHRs. */
export interface RecordSearch {
  ehrIds: readonly [string, ...string[]]
  where: Readonly<Record<string, unknown>>
  /** The list whose order the results have; default: `ofEhr`. */
  list?: string | undefined
  /** The only EHR, if its access fields have been read. */
  ehr?: ParseDocument | undefined
}

/** A kind as its store needs it. */
export type EhrRecordKind<S extends TObject, L extends string> = Omit<ClassKind, 'schema' | 'lists' | 'ehr'> &
  Resource<S, L>

/** The update of an object of the class family. */
export interface ObjectUpdate {
  apply(current: Values): Values
  /** It sets the status, which only closes a record. */
  closes: boolean
}

/** Runs a check, and audits a refusal. */
type RefusalAuditor = (check: () => Promise<void>) => Promise<void>

/** The records of one kind in EHRs, with the behaviour that all kinds share. */
export class EhrRecords<S extends TObject, L extends string> {
  readonly kind: EhrRecordKind<S, L>
  readonly store: Store<S, L>
  /** The same kind; a type with S and L cannot be assigned to ClassKind. */
  readonly #classKind: ClassKind
  readonly #context: StoreContext

  constructor(context: StoreContext, kind: EhrRecordKind<S, L>) {
    this.#context = context
    this.kind = kind
    this.#classKind = kind as unknown as ClassKind
    this.store = new Store(context, kind)
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
    const kindConditions = Object.entries(this.kind.filters ?? {}).flatMap(([filter, { where }]) => {
      const value = query[filter]
      return value === undefined ? [] : Object.entries(where(value))
    })
    const where = {
      ehrId,
      carePlanId,
      [this.kind.lists[name].sort]: { from, to },
      ...Object.fromEntries(kindConditions),
    }
    return this.store.list(caller, name, { where, either, ...page } as PageQuery<Static<S>>)
  }

  /**
   * The plans to search in place of the whole EHR, by the plans' index: the requested one, or those of a
   * caller who only takes part in plans. Other conditions on plans are left to the index of the EHR.
   */
  async #searchScopes(
    caller: Caller,
    { ehrId, carePlanId }: { ehrId: string; carePlanId?: unknown },
    ehr?: ParseDocument,
  ): Promise<object[] | undefined> {
    const { lists, outsidePlans } = this.kind
    const byPlan =
      (lists as Record<string, ListDefinition<Static<S>>>).ofPlan?.requiredFields.join() === 'carePlanId'
    const ehrCondition = { ehrId: { checked: ehrId } }
    if (carePlanId !== undefined) return byPlan && typeof carePlanId === 'string' ? [ehrCondition] : undefined
    if (!byPlan || !outsidePlans) return undefined
    const plans = await findParticipantPlans(this.#context, caller, ehrId, ehr)
    if (!plans) return undefined
    return [{ ...ehrCondition, carePlanId: plans.length === 1 ? plans[0] : { in: plans } }, outsidePlans]
  }

  /** Searches by any conditions. @throws NotFound when the caller may read none of the EHRs */
  async search(
    caller: Caller,
    { ehrIds, where, list = 'ofEhr', ehr }: RecordSearch,
    page: PageRequest,
    tx?: AuditedReads,
  ): Promise<Page<SavedRecord<Static<S>>>> {
    const [ehrId, ...others] = ehrIds
    const either =
      others.length === 0
        ? await this.#searchScopes(caller, { ehrId, carePlanId: where.carePlanId }, ehr)
        : ehrIds.map((id) => ({ ehrId: id }))
    const query = { where: { ...where, ehrId }, either, ...page } as PageQuery<Static<S>>
    return this.store.list(caller, list as L, query, { tx })
  }

  /** @throws NotFound */
  get(caller: Caller, key: EhrRecordKey): Promise<SavedRecord<Static<S>>> {
    return this.store.get(caller, storeKeyOf(key))
  }

  /**
   * @param parentIds the parents, from the request's path
   * @throws NotFound; Forbidden without write access to the EHR or the plan; RuleViolated
   */
  create(caller: Caller, parentIds: ParentIds, body: object, id: string): Promise<SavedRecord<Static<S>>> {
    return createOrFindExisting(
      () =>
        auditRefusedCreation(this.#context, caller, this.kind.collection, parentIds.ehrId, () =>
          this.createIn(caller, parentIds, body, id),
        ),
      () => this.get(caller, { id, ...parentIds }),
    )
  }

  /** Creates a record, optionally within a transaction. It does not audit refusals. */
  async createIn(
    caller: Caller,
    parentIds: ParentIds,
    body: object,
    id: string,
    tx?: Transaction,
  ): Promise<SavedRecord<Static<S>>> {
    const { record } = await this.#insert(caller, await this.buildRecord(parentIds, body), id, tx)
    return record
  }

  /** Creates an object of the class family. @param values its fields and parents */
  async createObject(caller: Caller, values: Values, id: string): Promise<ParseDocument> {
    const { fields } = this.kind
    const record = await this.#validateNew({ ...defaultsOf(fields), ...values, ...initialStatusOf(fields) })
    return (await this.#insert(caller, record, id)).document
  }

  /** Builds the record of a body, with its derived fields. @throws RuleViolated */
  buildRecord(parentIds: ParentIds, body: object): Promise<Static<S> & ParentIds> {
    const { fields } = this.kind
    return this.#validateNew({ ...withDefaults(fields, body), ...initialStatusOf(fields), ...parentIds })
  }

  async #validateNew(input: Values): Promise<Static<S> & ParentIds> {
    const kind = await resolveRules(this.#context, this.#classKind, input)
    return validateNewRecord(kind, input) as unknown as Static<S> & ParentIds
  }

  #insert(
    caller: Caller,
    record: Static<S> & ParentIds,
    id: string,
    tx?: Transaction,
  ): Promise<WrittenRecord<S>> {
    const kind = this.#classKind
    if (!hasCapacityLimit(kind)) {
      const target = insertTargetFor(kind, id, record)
      return this.store.insert(caller, record, target, { id, tx })
    }
    const work = (tx: Transaction) => this.#insertLimited(tx, caller, record, id)
    return runWithin(this.#context, tx, work)
  }

  /** Creates a record of a kind with limited number, which is counted under the exclusive lock of the EHR. */
  async #insertLimited(
    tx: Transaction,
    caller: Caller,
    record: Static<S> & ParentIds,
    id: string,
  ): Promise<WrittenRecord<S>> {
    const kind = this.#classKind
    const find = parentFinderIn(this.#context, tx.session)
    const { permissions } = await resolveParent(find, caller, kind, id, record)
    // Check the permissions first: a forbidden request must not make others wait for the lock.
    await lockEhrExclusively(this.#context, tx, record.ehrId)
    await requireCapacity(this.#context, kind, { ...record, id }, tx.session)
    return this.store.insert(caller, record, permissions, { tx, id })
  }

  /** @throws NotFound; Forbidden; PreconditionFailed; RuleViolated */
  replace(
    caller: Caller,
    key: EhrRecordKey,
    body: object,
    options: EhrWriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const fields = withDefaults(this.kind.fields, body)
    const nulls = Object.entries(fromPathNames(this.kind.fields, body)).filter(([, value]) => value === null)
    const without = nulls.map(([name]) => name)
    const change = (current: SavedRecord<Static<S>>) => ({
      ...this.#unchangeableFields(current, without),
      ...fields,
    })
    return this.applyChange(caller, key, change, options)
  }

  /** @throws as replace */
  protected async applyChange(
    caller: Caller,
    key: EhrRecordKey,
    change: (current: SavedRecord<Static<S>>) => object,
    { expected, tx }: EhrWriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const kind = await this.#kindFor(key)
    const next = (current: SavedRecord<Static<S>>) =>
      this.validateChange(caller, current, change(current), kind)
    const write = (checkedNext: typeof next, within?: Transaction) =>
      this.store.update(caller, storeKeyOf(key), checkedNext, { expected, tx: within })
    return this.#writeWithinQuota(next, write, { tx, audit: this.#auditRefusedUpdate(caller, key) })
  }

  #auditRefusedUpdate(caller: Caller, key: { id: string }): RefusalAuditor {
    return (check) => this.store.auditRefusal(caller, 'update', storeKeyOf(key), check)
  }

  /** Writes a change of a record. If the change moves it to another quota, that quota must have room. */
  async #writeWithinQuota<V extends unknown[], R>(
    next: (current: SavedRecord<Static<S>>, ...versions: V) => Static<S>,
    write: (checkedNext: typeof next, tx?: Transaction) => Promise<R>,
    { tx, audit = (check) => check() }: { tx?: Transaction | undefined; audit?: RefusalAuditor },
  ): Promise<R> {
    const kind = this.#classKind
    const { quota } = kind
    if (!quota) return write(next, tx)
    const work = async (within: Transaction) => {
      let before: Values = {}
      let after: Values = {}
      const result = await write((current, ...versions) => {
        before = current
        const record = next(current, ...versions)
        after = { ...record, id: current.id, ehrId: before.ehrId }
        return record
      }, within)
      if (quota.keyOf(after) === quota.keyOf(before)) return result
      await lockEhrExclusively(this.#context, within, String(after.ehrId))
      await audit(() => requireCapacity(this.#context, kind, after, within.session))
      return result
    }
    return runWithin(this.#context, tx, work)
  }

  /**
   * Changes an object of the class family. Closing it takes the exclusive lock of its EHR. Without a change it gets
   * no version.
   * @param apply returns the fields after the client's operations on the record that the transaction sees
   * @throws as replace
   */
  async updateObject(
    caller: Caller,
    id: string,
    { apply, closes }: ObjectUpdate,
    expected: ExpectedVersions,
  ): Promise<ParseDocument> {
    const kind = await this.#kindFor({ id })
    const next = (current: SavedRecord<Static<S>>) =>
      this.validateChange(caller, current, apply(current as RecordBody), kind)
    const replace = (checkedNext: typeof next, tx?: Transaction) =>
      this.store.updateUnaudited(caller, storeKeyOf({ id }), checkedNext, {
        expected,
        tx,
        skipUnchanged: true,
      })
    const write = async (tx?: Transaction) => (await this.#writeWithinQuota(next, replace, { tx })).document
    return closes ? this.#writeAndLock(write) : write()
  }

  /** Changes a record as {@link updateObject} does, with a new version even if nothing changes. @throws as replace */
  async update(
    caller: Caller,
    id: string,
    { apply, closes }: ObjectUpdate,
    { expected, tx }: EhrWriteOptions,
  ): Promise<SavedRecord<Static<S>>> {
    const change = (current: SavedRecord<Static<S>>) => apply(current as RecordBody)
    const write = (within?: Transaction) =>
      this.applyChange(caller, { id } as EhrRecordKey, change, { expected, tx: within })
    return closes ? this.#writeAndLock(write, tx) : write(tx)
  }

  /** Writes a record, and locks its EHR exclusively in the same transaction. */
  #writeAndLock<R extends object>(write: (tx: Transaction) => Promise<R>, tx?: Transaction): Promise<R> {
    return runWithin(this.#context, tx, async (within) => {
      const record = await write(within)
      await lockEhrExclusively(this.#context, within, String((record as RecordBody).ehrId))
      return record
    })
  }

  /** The kind with the rules of one record. The fields that select the rules never change. */
  async #kindFor({ id }: { id: string }): Promise<ClassKind> {
    const kind = this.#classKind
    if (!kind.rulesFor) return kind
    const document = await documentCollection(this.#context, kind.collection).findOne({ _id: id })
    return document ? resolveRules(this.#context, kind, document) : kind
  }

  /** Deletes a record and hides its contents, until it returns. @throws NotFound; Forbidden; PreconditionFailed */
  remove(caller: Caller, key: EhrRecordKey, { expected }: EhrWriteOptions): Promise<void> {
    return deleteWithContents(
      this.#context,
      caller,
      { collection: this.kind.collection, id: key.id },
      async (tx) => {
        await this.store.remove(caller, storeKeyOf(key), { expected, tx })
        return key.ehrId
      },
    )
  }

  /** Deletes an object of the class family. @throws as remove */
  removeObject(caller: Caller, id: string, expected: ExpectedVersions): Promise<void> {
    return deleteWithContents(this.#context, caller, { collection: this.kind.collection, id }, async (tx) => {
      const record = await this.store.removeUnaudited(caller, storeKeyOf({ id }), { expected, tx })
      return String((record as RecordBody).ehrId)
    })
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
   * @throws as replace; NotFound for an unknown version; Conflict for a record whose plan or goal is deleted
   */
  async restore(
    caller: Caller,
    key: EhrRecordKey,
    version: number,
    { expected }: EhrWriteOptions,
    onReturn?: OnReturn,
  ): Promise<SavedRecord<Static<S>>> {
    const deletedRecord = await this.store.findDeleted(caller, storeKeyOf(key))
    if (deletedRecord)
      try {
        return await this.#returnDeleted(caller, deletedRecord, version, { expected, onReturn })
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
        // A concurrent request may have returned it, and another one may have deleted it again.
        const laterDeletion = await this.store.findDeleted(caller, storeKeyOf(key))
        if (laterDeletion && laterDeletion.version > deletedRecord.version)
          return this.restore(caller, key, version, { expected }, onReturn)
        if (!(await this.store.find(caller, storeKeyOf(key)))) throw error
      }
    const kind = await this.#kindFor(key)
    const rule = (current: SavedRecord<Static<S>>, former: SavedRecord<Static<S>>) =>
      this.validateChange(
        caller,
        current,
        { ...(former as object), ...this.#unchangeableFields(current) },
        kind,
      )
    const restore = (checkedRule: typeof rule, tx?: Transaction) =>
      this.store.restore(caller, storeKeyOf(key), version, checkedRule, {
        expected,
        tx,
        explainMissing: () => this.#requireNotHidden(caller, key),
      })
    return this.#writeWithinQuota(rule, restore, { audit: this.#auditRefusedUpdate(caller, key) })
  }

  /** @throws Conflict for a record that is hidden with a deleted parent, if the caller could read it and may read the EHR */
  async #requireNotHidden(caller: Caller, { id, ...parentIds }: EhrRecordKey): Promise<void> {
    const filter = { _id: id, ...withoutNulls(parentIds) } as Filter<ParseDocument>
    const [hidden] = await findHiddenRecords(this.#context.db, caller, this.kind.collection, filter)
    if (!hidden || !(await canRead(this.#context, caller, 'Ehr', { _id: hidden.ehrId }))) return
    await requireNoDeletedParent(this.#context, hidden.document)
  }

  /** @throws Conflict for a deleted record that cannot return before another one */
  protected requireReturnable(
    record: SavedRecord<Static<S>> & ParentIds,
    session: ClientSession,
  ): Promise<void> {
    return requireNoDeletedParent(this.#context, record, session)
  }

  #returnDeleted(
    caller: Caller,
    deletedRecord: SavedRecord<Static<S>>,
    version: number,
    { expected, onReturn }: Pick<EhrWriteOptions, 'expected'> & { onReturn: OnReturn | undefined },
  ): Promise<SavedRecord<Static<S>>> {
    const kind = this.#classKind
    const record = deletedRecord as SavedRecord<Static<S>> & ParentIds
    const { id, ehrId } = record
    const rule = (former: SavedRecord<Static<S>>) =>
      ({ ...(former as object), ...this.#unchangeableFields(record) }) as Static<S>
    const key = { collection: kind.collection, id, ehrId }
    const returnRecord = async (tx: Transaction) => {
      await this.store.auditRefusal(caller, 'update', storeKeyOf({ id, ehrId }), () =>
        this.requireReturnable(record, tx.session),
      )
      const parent = returnTargetFor(kind, id, record)
      const options = { parent, tx, expected }
      const returnedRecord = await this.store.returnDeleted(caller, deletedRecord, version, rule, options)
      const audit = this.#auditRefusedUpdate(caller, record)
      if (hasCapacityLimit(kind))
        await audit(() => requireCapacity(this.#context, kind, returnedRecord as Values, tx.session))
      return returnedRecord
    }
    return returnWithContents(this.#context, caller, key, returnRecord, onReturn)
  }

  /** Checks a change and returns the new record with its derived fields. @throws RuleViolated */
  protected validateChange(
    caller: Caller,
    current: SavedRecord<Static<S>>,
    next: object,
    kind = this.#classKind,
  ): Static<S> {
    requireNoViolations(kind.reservedViolations?.(caller, current as RecordBody, next as RecordBody) ?? [])
    const nextFields = { ...defaultsOf(this.kind.fields), ...withoutNulls(next) }
    return validateChangedRecord(kind, current as object, nextFields) as Static<S>
  }

  /** The fields that a replacement need not repeat. @param without fields that the body sets to null; validation refuses their removal */
  #unchangeableFields(current: SavedRecord<Static<S>>, without: readonly string[] = []): RecordBody {
    const { parentIds, fields } = this.kind
    const fixed = [...Object.keys(parentIds), ...markedFieldNames(fields, 'fixed')]
    const names = [...fixed.filter((name) => !without.includes(name)), ...markedFieldNames(fields, 'status')]
    return Object.fromEntries(names.map((name) => [name, (current as RecordBody)[name]]))
  }
}

/** The types cannot express that each kind has the fields of its parents. */
const storeKeyOf = (key: Partial<EhrRecordKey> & { id: string }) => key as never
