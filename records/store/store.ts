import { compileFilter } from '@health-record-service/embedded-mongo/matcher'
import type { Static, TObject } from '@sinclair/typebox'
import type { Collection, IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { createReadLimits } from '../limits/read-limits.ts'
import { mapInSlices } from '../limits/time-slice.ts'
import type { AuditedAccess } from './audit/audit-log.ts'
import {
  type Caller,
  isPermitted,
  isReadableByHelper,
  type Permissions,
  permissionFilter,
} from './documents/caller.ts'
import { documentCollection, isDuplicateKeyError } from './documents/database.ts'
import { newId } from './documents/ids.ts'
import {
  createParseFormat,
  type ParseDocument,
  type ParseFormat,
  type RecordOf,
  type SavedRecord,
} from './documents/parse-format.ts'
import { qualifiedListName } from './reading/cursor.ts'
import { DocumentLookup } from './reading/document-lookup.ts'
import { type Alternatives, describeWhere, toMongoFilter, type Where } from './reading/filter.ts'
import {
  indexOfList,
  type ListDefinition,
  type Page,
  type PageQuery,
  type PageRequest,
  readPage,
} from './reading/pages.ts'
import {
  accessesByEhr,
  accessWithoutRecords,
  historyKeyOf,
  type RecordSelector,
  type Resource,
} from './resource.ts'
import {
  type ExpectedVersions,
  isSelected,
  requireExpectedVersion,
  type UpdateConditions,
  WriteDecider,
  type WrittenRecord,
} from './write-decider.ts'
import { BatchWriter, type RecordParent, type WriteRequest } from './writing/batch-writer.ts'
import {
  findDeletedVersion,
  findVersion,
  type HistoryEntry,
  listHistory,
  versionAfterDeletion,
} from './writing/history.ts'
import type { AuditedReads, StoreContext, Transaction } from './writing/transaction.ts'
import type { FirstVersion } from './writing/write-decision.ts'

interface ReadOptions {
  /** The transaction, or the group of audited reads, to join. */
  tx?: AuditedReads | undefined
  /** Stored fields that the caller does not need: the record lacks them. */
  without?: readonly string[] | undefined
}

interface WriteOptions {
  /** Absent: the operation runs in a transaction of its own. */
  tx?: Transaction | undefined
}

export interface ConditionalWriteOptions extends WriteOptions {
  expected?: ExpectedVersions
}

interface RestoreOptions extends ConditionalWriteOptions {
  /** Runs when the caller finds no record. It may throw an error that says more than NotFound. */
  explainMissing?: () => Promise<void>
}

type UpdateOptions = WriteOptions & UpdateConditions

/** A history entry in API form. */
export type RecordHistoryEntry<T> = Omit<HistoryEntry, '_id' | 'at' | 'before' | 'onBehalfOf'> & {
  at: string
  onBehalfOf: string | null
  before: SavedRecord<T> | null
}

/**
 * Stores the records of one resource in Parse's format, for both API families. Reads are filtered by
 * `_rperm`, writes require `_wperm`. A record that the caller may not read counts as not found. Every write
 * adds a history entry. Every access to an EHR's data adds an audit entry: within the transaction of a write,
 * or on disk before a read returns.
 *
 * | methods                                 | audit of a refusal         |
 * | --------------------------------------- | -------------------------- |
 * | get, list, update, remove, restore      | yes                        |
 * | find, updateUnaudited, removeUnaudited  | left to the caller         |
 * | create, createAll, insert               | left to the caller         |
 */
export class Store<S extends TObject, L extends string> {
  readonly #context: StoreContext
  readonly #resource: Resource<S, L>
  readonly #format: ParseFormat<Static<S>>
  readonly #documents: Collection<ParseDocument>
  readonly #lookup: DocumentLookup
  readonly #decider: WriteDecider<S>
  readonly #writer: BatchWriter

  constructor(context: StoreContext, resource: Resource<S, L>) {
    this.#context = context
    this.#resource = resource
    this.#format = createParseFormat(resource.schema)
    this.#documents = context.db.collection<ParseDocument>(resource.collection)
    this.#lookup = new DocumentLookup(this.#documents)
    this.#decider = new WriteDecider(resource, this.#format, context.clock)
    this.#writer = new BatchWriter(context, this.#documents, resource.recordDerivation)
  }

  /** The collection and its indexes, which the service creates on startup. */
  indexes(): [collection: string, IndexDescription[]] {
    const lists = Object.entries<ListDefinition<Static<S>>>(this.#resource.lists)
    const ofLists = lists.map(([name, shape]) => indexOfList(this.#format, name, shape))
    return [this.#resource.collection, [...ofLists, ...(this.#resource.indexes ?? [])]]
  }

  /** Saves a new record. @throws as insert */
  async create(
    caller: Caller,
    input: Static<S>,
    permissions: Permissions | RecordParent,
    { tx, id = newId(), first }: WriteOptions & { id?: string; first?: FirstVersion } = {},
  ): Promise<RecordOf<S>> {
    return (await this.insert(caller, input, permissions, { tx, id, ...(first && { first }) })).record
  }

  /** Saves a new record. @throws NotFound and Forbidden of the parent; Conflict with an id or a unique index */
  async insert(
    caller: Caller,
    input: Static<S>,
    permissions: Permissions | RecordParent,
    { tx, id, first }: WriteOptions & { id: string; first?: FirstVersion },
  ): Promise<WrittenRecord<S>> {
    const inputs = [{ ...(input as object), id } as Static<S>]
    return this.#write(this.#toCreationRequest(caller, inputs, permissions, first), tx).catch(throwConflict)
  }

  /** Saves new records with the same permissions, all or none. An `id` in an input becomes the record's. */
  async createAll(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | RecordParent,
    { tx, first }: WriteOptions & { first?: FirstVersion } = {},
  ): Promise<RecordOf<S>[]> {
    if (inputs.length === 0) return []
    const writtenRecords = await this.#writer.write(
      this.#toCreationRequest(caller, inputs, permissions, first),
      tx,
    )
    return writtenRecords.map(({ record }) => record)
  }

  #toCreationRequest(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | RecordParent,
    first?: FirstVersion,
  ): WriteRequest<WrittenRecord<S>> {
    return {
      id: null,
      parent: 'permissions' in permissions ? permissions : undefined,
      decide: (_, parent) => this.#decider.decideCreate(caller, inputs, permissions, parent, first),
    }
  }

  /** Finds a record that the caller may read, for a decision that the audit entry of the access follows. */
  async find(
    caller: Caller,
    key: RecordSelector<S>,
    { tx, without = [] }: ReadOptions = {},
  ): Promise<RecordOf<S> | undefined> {
    if (!isReadableByHelper(caller, this.#resource.helperAct)) return undefined
    const filter = {
      ...toMongoFilter(this.#format, key as Where<Static<S>>),
      ...permissionFilter('_rperm', caller),
    }
    const document = await this.#lookup.find({ id: key.id, filter }, { without, session: tx?.session })
    const isFound =
      document && isPermitted(document._rperm, caller) && isSelected(this.#format, key, document)
    return isFound ? this.toRecord(document) : undefined
  }

  /** @throws NotFound, also for a record that the caller may not read */
  async get(caller: Caller, key: RecordSelector<S>, { tx, without }: ReadOptions = {}): Promise<RecordOf<S>> {
    const record = await this.find(caller, key, { tx, without })
    if (!record) return this.#refuse(caller, 'read', key, new ServiceError('NotFound'))
    await this.auditRead(caller, record, tx)
    return record
  }

  /**
   * Reads one page of a list that the resource declares.
   * @throws MalformedRequest for a cursor of another list; NotFound if the list is empty and the caller may not
   * read the EHR or the care plan that the query names
   */
  async list(
    caller: Caller,
    name: L,
    query: PageQuery<Static<S>>,
    { tx }: ReadOptions = {},
  ): Promise<Page<RecordOf<S>>> {
    if (!isReadableByHelper(caller, this.#resource.helperAct))
      return this.#refuse(caller, 'query', { id: '', ...query.where }, new ServiceError('NotFound'))
    const list = { name: qualifiedListName(this.#resource.collection, name), ...this.#resource.lists[name] }
    const readable = permissionFilter('_rperm', caller)
    const limits = tx?.session ? undefined : createReadLimits(caller)
    const reading = { session: tx?.session, limits }
    const page = await readPage(this.#documents, this.#format, list, readable, query, reading)
    const items = await mapInSlices(page.items, (one) => this.toRecord(one), limits?.slice)
    const asked = `${name}: ${describeWhere(query.where)}`
    const listAccess = { resource: this.#resource, query, asked, items }
    await this.#auditAccesses(tx, await this.#context.accessesOfList(this.#context, caller, listAccess, tx))
    return { ...page, items }
  }

  /**
   * Replaces a record by the result of `change`; fields missing from the result are removed. After a
   * concurrent write, `change` runs again on the newer version, unless `expected` names versions.
   * @throws NotFound; Forbidden without write access; PreconditionFailed with the current version
   */
  async update(
    caller: Caller,
    key: RecordSelector<S>,
    change: (current: RecordOf<S>) => Static<S>,
    options: UpdateOptions = {},
  ): Promise<RecordOf<S>> {
    const { action = 'update' } = options
    const write = () => this.updateUnaudited(caller, key, change, options)
    return (await this.auditRefusal(caller, action, key, write)).record
  }

  /** As update, for callers that audit a refusal themselves. @throws as update; Conflict with a unique index */
  async updateUnaudited(
    caller: Caller,
    key: RecordSelector<S>,
    change: (current: RecordOf<S>) => Static<S>,
    { tx, ...conditions }: UpdateOptions = {},
  ): Promise<WrittenRecord<S>> {
    return this.#write(this.#toUpdateRequest(caller, key, change, conditions), tx).catch(throwConflict)
  }

  #toUpdateRequest(
    caller: Caller,
    key: RecordSelector<S>,
    change: (current: RecordOf<S>) => Static<S>,
    conditions?: UpdateConditions,
  ): WriteRequest<WrittenRecord<S>> {
    return {
      id: key.id,
      decide: (document) => this.#decider.decideUpdate(caller, key, document, change, conditions),
    }
  }

  /** Checks that the caller may change a record. @throws NotFound; Forbidden; PreconditionFailed */
  requireChangeable(
    caller: Caller,
    document: ParseDocument | undefined,
    expected: ExpectedVersions,
  ): ParseDocument {
    return this.#decider.requireChangeable(caller, document, expected).document
  }

  /** Updates several records within a transaction. @throws as update */
  async updateAll(
    caller: Caller,
    ids: readonly string[],
    change: (current: RecordOf<S>) => Static<S>,
    tx: Transaction,
  ): Promise<RecordOf<S>[]> {
    const writes = ids.map((id) => this.#toUpdateRequest(caller, { id } as RecordSelector<S>, change))
    return (await this.#writer.writeAll(writes, tx)).flat().map(({ record }) => record)
  }

  /** @throws as update */
  async remove(caller: Caller, key: RecordSelector<S>, options: ConditionalWriteOptions = {}): Promise<void> {
    await this.auditRefusal(caller, 'delete', key, () => this.removeUnaudited(caller, key, options))
  }

  /** As remove, for callers that audit a refusal themselves. @returns the removed record. @throws as update */
  async removeUnaudited(
    caller: Caller,
    key: RecordSelector<S>,
    { tx, expected }: ConditionalWriteOptions,
  ): Promise<RecordOf<S>> {
    const decide = (document: ParseDocument | null) =>
      this.#decider.decideRemoval(caller, key, document, expected)
    return (await this.#write({ id: key.id, decide }, tx)).record
  }

  async #write(
    write: WriteRequest<WrittenRecord<S>>,
    tx: Transaction | undefined,
  ): Promise<WrittenRecord<S>> {
    return (await this.#writer.write(write, tx))[0] as WrittenRecord<S>
  }

  /** Finds the last version of a deleted record that fits, for those who could read it and can still read its EHR. */
  async findDeleted(
    caller: Caller,
    key: RecordSelector<S>,
    where: Where<Static<S>> & Alternatives<Static<S>> = {},
  ): Promise<RecordOf<S> | undefined> {
    const record = historyKeyOf(this.#resource, key)
    const before = await findDeletedVersion(this.#context.db, record)
    if (!isReadableByHelper(caller, this.#resource.helperAct)) return
    if (!before || !isPermitted(before._rperm, caller) || !isSelected(this.#format, key, before)) return
    if (!compileFilter(toMongoFilter(this.#format, where))(before)) return
    const ehr = { _id: record.ehrId ?? '', ...permissionFilter('_rperm', caller) }
    if (record.ehrId && !(await documentCollection(this.#context, 'Ehr').findOne(ehr))) return
    const deletedRecord = this.toRecord(before)
    await this.auditRead(caller, deletedRecord)
    return deletedRecord
  }

  /**
   * Brings a deleted record back, with the permissions of its parent.
   * @param deletedRecord the result of {@link findDeleted}
   * @param expected versions of the deletion itself
   * @throws NotFound when the version is unknown or the parent is gone; Forbidden; PreconditionFailed; Conflict
   */
  async returnDeleted(
    caller: Caller,
    deletedRecord: RecordOf<S>,
    version: number,
    rule: (former: RecordOf<S>) => Static<S>,
    { parent, tx, expected }: { parent: RecordParent; tx: Transaction; expected: ExpectedVersions },
  ): Promise<RecordOf<S>> {
    const record = historyKeyOf(this.#resource, deletedRecord)
    const former = await findVersion(this.#context.db, record, version)
    const last = await findDeletedVersion(this.#context.db, record)
    if (!former || !last) throw unknownVersionError(version)
    const key = { id: deletedRecord.id } as RecordSelector<S>
    const inputs = [{ ...rule(this.toRecord(former)), ...key }]
    const first = { version: versionAfterDeletion(last), createdAt: last._created_at, former }
    const write = this.#toCreationRequest(caller, inputs, parent, first)
    const create = async () => {
      this.#resource.refuseChange?.(deletedRecord)
      requireExpectedVersion(expected, first.version - 1)
      return this.#write(write, tx).catch(throwConflict)
    }
    return (await this.auditRefusal(caller, 'update', key, create)).record
  }

  /** Lists the changes of a record, newest first. @throws NotFound; MalformedRequest for a foreign cursor */
  async history(
    caller: Caller,
    key: RecordSelector<S>,
    page: PageRequest,
  ): Promise<Page<RecordHistoryEntry<Static<S>>>> {
    const current = (await this.findDeleted(caller, key)) ?? (await this.get(caller, key))
    const record = historyKeyOf(this.#resource, current)
    const { items, ...rest } = await listHistory(this.#context.db, record, page, createReadLimits(caller))
    return {
      ...rest,
      items: items.map(
        ({ version, at, userId, onBehalfOf = null, application, action, changed, before }) => ({
          version,
          at: at.toISOString(),
          userId,
          onBehalfOf,
          application,
          action,
          changed,
          before: before && this.toRecord(before),
        }),
      ),
    }
  }

  /** Returns a former version of a record that the caller has read; undefined when it is unknown, or does not fit. */
  async findFormerVersion(
    caller: Caller,
    current: RecordOf<S>,
    version: number,
    where: Where<Static<S>> & Alternatives<Static<S>> = {},
  ): Promise<RecordOf<S> | undefined> {
    const former = await findVersion(this.#context.db, historyKeyOf(this.#resource, current), version)
    if (!former || !compileFilter(toMongoFilter(this.#format, where))(former)) return undefined
    await this.auditRead(caller, current)
    return this.toRecord(former)
  }

  /**
   * Restores a former version as the newest one. `rule` gets both versions and returns the record to save.
   * @throws as update; NotFound also for an unknown version
   */
  async restore(
    caller: Caller,
    key: RecordSelector<S>,
    version: number,
    rule: (current: RecordOf<S>, former: RecordOf<S>) => Static<S>,
    options: RestoreOptions = {},
  ): Promise<RecordOf<S>> {
    const former = await this.auditRefusal(caller, 'update', key, () =>
      this.#findFormer(caller, key, version, options),
    )
    const record = this.toRecord(former)
    return this.update(caller, key, (current) => rule(current, record), { ...options, former })
  }

  /** Reads a former version for a write that restores it. @throws NotFound, also for an unknown version */
  async readFormer(
    caller: Caller,
    key: RecordSelector<S>,
    version: number,
    options: ReadOptions = {},
  ): Promise<RecordOf<S>> {
    return this.toRecord(await this.#findFormer(caller, key, version, options))
  }

  async #findFormer(
    caller: Caller,
    key: RecordSelector<S>,
    version: number,
    options: ReadOptions & Pick<RestoreOptions, 'explainMissing'>,
  ): Promise<ParseDocument> {
    const current = await this.find(caller, key, options)
    if (!current) {
      await options.explainMissing?.()
      throw new ServiceError('NotFound')
    }
    const former = await findVersion(this.#context.db, historyKeyOf(this.#resource, current), version)
    if (!former) throw unknownVersionError(version)
    return former
  }

  async auditRefusal<R>(
    caller: Caller,
    action: 'update' | 'delete',
    key: RecordSelector<S>,
    write: () => Promise<R>,
  ): Promise<R> {
    return write().catch((error: unknown) => {
      if (!(error instanceof ServiceError)) throw error
      return this.#refuse(caller, action, key, error)
    })
  }

  async #refuse(
    caller: Caller,
    action: 'read' | 'query' | 'update' | 'delete',
    key: object,
    error: ServiceError,
  ): Promise<never> {
    const outcome = error.error === 'NotFound' ? 'denied' : 'refused'
    const accesses = accessWithoutRecords(this.#resource, caller, { action, outcome }, { ...key })
    await this.#auditAccesses(undefined, accesses)
    throw error
  }

  /** The record of a stored document that the caller may read. */
  toRecord(document: ParseDocument): RecordOf<S> {
    return this.#format.fromStored(document)
  }

  /** Audits the read of a record that {@link find} has returned. */
  auditRead(caller: Caller, record: object, tx?: AuditedReads): Promise<void> {
    return this.#auditAccesses(tx, accessesByEhr(this.#resource, caller, { action: 'read' }, [record]))
  }

  async #auditAccesses(tx: AuditedReads | undefined, accesses: AuditedAccess[]): Promise<void> {
    if (tx) tx.accesses.push(...accesses)
    else await this.#context.audit.record(...accesses)
  }
}

export function throwConflict(fault: unknown): never {
  throw isDuplicateKeyError(fault)
    ? new ServiceError('Conflict', { detail: 'A record with these values already exists.', cause: fault })
    : fault
}

const unknownVersionError = (version: number) =>
  new ServiceError('NotFound', { detail: `There is no former version ${version}.` })
