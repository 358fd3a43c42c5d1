import type { Static, TObject } from '@sinclair/typebox'
import type { Caller, Permissions } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Where } from '../../store/reading/filter.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import type { Key } from '../../store/resource.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { takeTurn } from '../owner/ledger.ts'
import { normalised } from '../owner/normalise.ts'
import { belongingId, keyOf, type Owner, ownedBy } from '../owner/owner.ts'
import type { Relations } from './relations.ts'

/** What belongs to persons and to their relations, one kind of it. */
export abstract class Belongings<S extends TObject> {
  readonly #records: Records
  readonly #relations: Relations
  readonly #schema: S
  readonly store: Store<S, 'own'>

  /** @param schema of what is kept: `owner`, and the fields of the input */
  constructor(records: Records, relations: Relations, collection: string, schema: S) {
    this.#records = records
    this.#relations = relations
    this.#schema = schema
    const lists = { own: { by: ['owner'], sort: 'createdAt', order: 'asc' } } as const
    this.store = new Store(records, { collection, schema, lists })
  }

  /** @throws NotFound when the owner is a relation that is not there */
  async list(caller: Caller, owner: Owner, page: PageOf): Promise<Page<Saved<Static<S>>>> {
    await this.#relations.require(caller, owner)
    return this.store.list(caller, 'own', { where: ownedBy(owner) as Where<Static<S>>, ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, owner: Owner, id: string, tx?: Transaction): Promise<Saved<Static<S>>> {
    return this.store.get(caller, keyOf(owner, id) as Key<Static<S>>, { tx })
  }

  /** Removes all of one owner, each with its history entry. */
  async removeAll(caller: Caller, tx: Transaction, owner: Owner): Promise<void> {
    for (;;) {
      const where = ownedBy(owner) as Where<Static<S>>
      const { items } = await this.store.list(caller, 'own', { where, limit: 100 }, { tx })
      if (items.length === 0) return
      for (const { id } of items) await this.store.remove(caller, { id } as Key<Static<S>>, { tx })
    }
  }

  /** What the input makes. @throws as normalised */
  protected ofInput(owner: Owner, input: object): Static<S> {
    return { ...normalised(this.#schema, input), ...ownedBy(owner) } as Static<S>
  }

  /**
   * Creates one in its owner's turn, unless an earlier attempt of the same request has done so.
   * @param settle gives what is saved, when the turn has come
   * @throws NotFound when the owner is a relation that is not there
   */
  protected createInTurn(
    caller: Caller,
    owner: Owner,
    newId: string,
    permissions: Permissions,
    settle: (tx: Transaction, id: string) => Promise<Static<S>>,
  ): Promise<Saved<Static<S>>> {
    const id = belongingId(owner.mvUid, newId)
    const create = () =>
      this.inTurn(owner, async (tx) => {
        await this.#relations.require(caller, owner, tx)
        return this.store.create(caller, await settle(tx, id), permissions, { tx, id })
      })
    return unlessMade(create, () => this.get(caller, owner, newId))
  }

  /** Does what depends on several belongings of a person, one transaction after the other. */
  protected inTurn<R>({ mvUid }: Owner, work: (tx: Transaction) => Promise<R>): Promise<R> {
    return inTransaction(this.#records, async (tx) => {
      await takeTurn(this.#records, tx, mvUid)
      return work(tx)
    })
  }
}
