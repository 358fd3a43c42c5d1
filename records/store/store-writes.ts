import type { Static, TObject } from '@sinclair/typebox'
import { ServiceError } from '../../schemas/errors.ts'
import type { Caller, Permissions } from './documents/caller.ts'
import { isDuplicateKeyError } from './documents/database.ts'
import { newId } from './documents/ids.ts'
import type { ParseDocument, ParseFormat, SavedRecord } from './documents/parse-format.ts'
import { accessesByEhr, type RecordSelector, type Resource } from './resource.ts'
import {
  type ExpectedVersions,
  requireParentPermissions,
  WriteDecider,
  type WrittenRecord,
} from './write-decider.ts'
import { BatchWriter, type RecordParent, type WriteRequest } from './writing/batch-writer.ts'
import type { StoreContext, Transaction } from './writing/transaction.ts'

export interface StoreWriteOptions {
  /** The transaction to join; without it, the operation runs in a transaction of its own. */
  tx?: Transaction | undefined
}

export interface ConditionalWriteOptions extends StoreWriteOptions {
  expected?: ExpectedVersions
}

export interface StoreUpdateOptions extends ConditionalWriteOptions {
  permissions?: Permissions | undefined
  /** The action that the history shows. A 'delete' may keep the record, emptied. */
  action?: 'update' | 'delete'
  /** A record that would stay as it is gets no version. */
  skipUnchanged?: boolean
}

/**
 * The writes of one resource, for both API families: each is a transaction with its history, audit and derived
 * records. A refused write leaves no audit entry here; whoever calls writes that.
 */
export class StoreWrites<S extends TObject> {
  readonly #resource: Resource<S, string>
  readonly #decider: WriteDecider<S>
  readonly #writer: BatchWriter

  constructor(records: StoreContext, resource: Resource<S, string>, format: ParseFormat<Static<S>>) {
    this.#resource = resource
    this.#decider = new WriteDecider(resource, format, records.clock)
    const documents = records.db.collection<ParseDocument>(resource.collection)
    this.#writer = new BatchWriter(records, documents, resource.recordDerivation)
  }

  /** Saves a new record. @throws NotFound and Forbidden of the parent; Conflict with a unique index */
  async insert(
    caller: Caller,
    input: Static<S>,
    permissions: Permissions | RecordParent,
    { tx, id = newId() }: StoreWriteOptions & { id?: string } = {},
  ): Promise<WrittenRecord<Static<S>>> {
    const inputs = [{ ...(input as object), id } as Static<S>]
    const [created] = await this.insertAll(caller, inputs, permissions, { tx })
    return created as WrittenRecord<Static<S>>
  }

  /** Saves new records with the same permissions, all or none. An `id` in an input becomes the record's. */
  async insertAll(
    caller: Caller,
    inputs: ReadonlyArray<Static<S> & { id?: string }>,
    permissions: Permissions | RecordParent,
    { tx }: StoreWriteOptions = {},
  ): Promise<WrittenRecord<Static<S>>[]> {
    if (inputs.length === 0) return []
    const parent = 'permissions' in permissions ? permissions : undefined
    const decide = (_: unknown, parentDocument: ParseDocument | null) =>
      this.#decider.decideCreate(caller, inputs, permissions, parentDocument)
    return this.#writer.write({ id: null, parent, decide }, tx)
  }

  /** @throws NotFound; Forbidden without write access; PreconditionFailed; Conflict with a unique index */
  async replace(
    caller: Caller,
    key: RecordSelector<Static<S>>,
    change: (now: SavedRecord<Static<S>>) => Static<S>,
    { tx, expected, permissions, action = 'update', skipUnchanged }: StoreUpdateOptions = {},
  ): Promise<WrittenRecord<Static<S>>> {
    const decide = (found: ParseDocument | null) =>
      this.#decider.decideUpdate(caller, key, found, change, { expected, permissions, action, skipUnchanged })
    return this.#writeOne({ id: key.id, decide }, tx).catch(throwConflict)
  }

  /** Replaces several records within a transaction and audits them together. @throws as replace */
  async replaceAll(
    caller: Caller,
    ids: readonly string[],
    change: (now: SavedRecord<Static<S>>) => Static<S>,
    tx: Transaction,
  ): Promise<SavedRecord<Static<S>>[]> {
    const free = { expected: undefined, permissions: undefined, action: 'update' as const }
    const writes = ids.map((id) => ({
      id,
      decide: (found: ParseDocument | null) => ({
        ...this.#decider.decideUpdate(caller, { id } as RecordSelector<Static<S>>, found, change, free),
        accesses: [],
      }),
    }))
    const updated = (await this.#writer.writeAll(writes, tx)).flat().map(({ record }) => record)
    tx.accesses.push(...accessesByEhr(this.#resource, caller, { action: 'update' }, updated))
    return updated
  }

  /** Brings a deleted record back as its next version. @throws NotFound and Forbidden of the parent; Conflict */
  async reinstate(
    caller: Caller,
    last: ParseDocument,
    record: Static<S>,
    parent: RecordParent,
    tx: Transaction,
  ): Promise<WrittenRecord<Static<S>>> {
    const decide = (_: unknown, found: ParseDocument | null) =>
      this.#decider.decideReturn(caller, last, record, requireParentPermissions(parent, caller, found))
    return this.#writeOne({ id: null, parent, decide }, tx).catch(throwConflict)
  }

  /** @returns the removed record. @throws NotFound; Forbidden; PreconditionFailed */
  async remove(
    caller: Caller,
    key: RecordSelector<Static<S>>,
    { tx, expected }: ConditionalWriteOptions = {},
  ): Promise<SavedRecord<Static<S>>> {
    const decide = (found: ParseDocument | null) => this.#decider.decideRemoval(caller, key, found, expected)
    return (await this.#writeOne({ id: key.id, decide }, tx)).record
  }

  async #writeOne(
    write: WriteRequest<WrittenRecord<Static<S>>>,
    tx: Transaction | undefined,
  ): Promise<WrittenRecord<Static<S>>> {
    return (await this.#writer.write(write, tx))[0] as WrittenRecord<Static<S>>
  }
}

/** Turns a violation of a unique index into a Conflict. */
export function throwConflict(fault: unknown): never {
  throw isDuplicateKeyError(fault)
    ? new ServiceError('Conflict', { detail: 'A record with these values already exists.', cause: fault })
    : fault
}
