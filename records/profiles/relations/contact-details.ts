import type { Static, TObject } from '@sinclair/typebox'
import type { Violation } from '../../../schemas/validation/violations.ts'
import { requireNoViolations } from '../../ehr-records/refusals/refusals.ts'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { SavedRecord } from '../../store/documents/parse-format.ts'
import type { Where } from '../../store/reading/filter.ts'
import type { Page, PageRequest } from '../../store/reading/pages.ts'
import type { RecordSelector } from '../../store/resource.ts'
import { Store } from '../../store/store.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { createOrFindExisting } from '../../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { normaliseBody } from '../storage/normalise-body.ts'
import { type Owner, ownedRecordId, ownedRecordKey, ownerFieldOf } from '../storage/owner.ts'
import { lockProfile } from '../storage/profile-lock.ts'
import type { Relations } from './relations.ts'

/** A transaction removes those of a relation with it. */
const MAX_RECORDS_PER_OWNER = 100

const fullViolation: Violation = {
  path: '',
  code: 'full',
  message: `cannot be added: the person or relation has already ${MAX_RECORDS_PER_OWNER}, the maximum`,
}

/** The store of one kind of contact details, of persons and of their relations. */
export abstract class ContactDetails<S extends TObject> {
  readonly #context: StoreContext
  readonly #relations: Relations
  readonly #schema: S
  readonly #collection: string
  readonly store: Store<S, 'own'>

  /** @param schema the stored fields: `owner`, and those of the input */
  constructor(context: StoreContext, relations: Relations, collection: string, schema: S) {
    this.#context = context
    this.#relations = relations
    this.#schema = schema
    this.#collection = collection
    const lists = { own: { requiredFields: ['owner'], sort: 'createdAt', order: 'asc' } } as const
    this.store = new Store(context, { collection, schema, lists })
  }

  /** @throws NotFound when the owner is a relation that does not exist */
  async list(caller: Caller, owner: Owner, page: PageRequest): Promise<Page<SavedRecord<Static<S>>>> {
    await this.#relations.requireOwner(caller, owner)
    return this.store.list(caller, 'own', { where: ownerFieldOf(owner) as Where<Static<S>>, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, owner: Owner, id: string, tx?: Transaction): Promise<SavedRecord<Static<S>>> {
    return this.store.get(caller, ownedRecordKey(owner, id) as RecordSelector<S>, { tx })
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, owner: Owner, id: string, expected: ExpectedVersions): Promise<void> {
    return this.store.remove(caller, ownedRecordKey(owner, id) as RecordSelector<S>, { expected })
  }

  /** Deletes all records of one owner, each with a history entry. */
  async removeAll(caller: Caller, tx: Transaction, owner: Owner): Promise<void> {
    for (;;) {
      const where = ownerFieldOf(owner) as Where<Static<S>>
      const { items } = await this.store.list(caller, 'own', { where, limit: 100 }, { tx })
      if (items.length === 0) return
      // The store writes what is removed at the same time together.
      await Promise.all(items.map(({ id }) => this.store.remove(caller, { id } as RecordSelector<S>, { tx })))
    }
  }

  /** Builds the record of an input. @throws as normaliseBody */
  protected buildRecord(owner: Owner, input: object): Static<S> {
    return { ...normaliseBody(this.#schema, input), ...ownerFieldOf(owner) } as Static<S>
  }

  /**
   * Creates a record under the profile lock of its owner, unless an earlier attempt of the same request did
   * so.
   * @param settle builds the record once the lock is taken
   * @throws NotFound when the owner is a relation that does not exist; RuleViolated when it has too many
   */
  protected createWithLock(
    caller: Caller,
    owner: Owner,
    newId: string,
    permissions: Permissions,
    settle: (tx: Transaction, id: string) => Promise<Static<S>>,
  ): Promise<SavedRecord<Static<S>>> {
    const id = ownedRecordId(owner.mvUid, newId)
    const create = () =>
      this.runWithProfileLock(owner, async (tx) => {
        await this.#relations.requireOwner(caller, owner, tx)
        await this.#requireRoom(owner, tx)
        return this.store.create(caller, await settle(tx, id), permissions, { tx, id })
      })
    return createOrFindExisting(create, () => this.get(caller, owner, newId))
  }

  /** @throws RuleViolated when the owner has the maximum number of records */
  async #requireRoom(owner: Owner, { session }: Transaction): Promise<void> {
    const options = { session, limit: MAX_RECORDS_PER_OWNER }
    const count = await documentCollection(this.#context, this.#collection).countDocuments(
      ownerFieldOf(owner),
      options,
    )
    requireNoViolations(count < MAX_RECORDS_PER_OWNER ? [] : [fullViolation])
  }

  /**
   * Runs work that depends on several contact details of a person; such transactions run one after the other.
   */
  protected runWithProfileLock<R>({ mvUid }: Owner, work: (tx: Transaction) => Promise<R>): Promise<R> {
    return runStoreTransaction(this.#context, async (tx) => {
      await lockProfile(this.#context, tx, mvUid)
      return work(tx)
    })
  }
}
