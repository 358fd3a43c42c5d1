import { type Static, Type } from '@sinclair/typebox'
import { type AddressCreate, addressFields } from '../../../schemas/address.ts'
import type { IfMatch } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import type { Page, PageOf } from '../../store/reading/listing.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records } from '../../store/writing/transaction.ts'
import { takeTurn } from '../owner/ledger.ts'
import { complete } from '../owner/normalise.ts'
import { belonging, keyOf, type Owner, ownedBy, ownerFields, privateTo } from '../owner/owner.ts'
import type { Relations } from './relations.ts'

const fields = Type.Object(addressFields)
const StoredAddress = Type.Object({ ...ownerFields, ...addressFields })
type StoredAddress = Static<typeof StoredAddress>

/** The addresses of persons and of their relations. */
export class Addresses {
  readonly #records: Records
  readonly #relations: Relations
  readonly store

  constructor(records: Records, relations: Relations) {
    this.#records = records
    this.#relations = relations
    this.store = new Store(records, {
      collection: 'profile.addresses',
      schema: StoredAddress,
      lists: { own: { by: ['owner'], sort: 'createdAt', order: 'asc' } },
    })
  }

  /** @throws NotFound when the owner is a relation that is not there */
  async list(caller: Caller, owner: Owner, page: PageOf): Promise<Page<Saved<StoredAddress>>> {
    await this.#relations.require(caller, owner)
    return this.store.list(caller, 'own', { where: ownedBy(owner), ...page })
  }

  /** @throws NotFound */
  get(caller: Caller, owner: Owner, id: string) {
    return this.store.get(caller, keyOf(owner, id))
  }

  /** @throws NotFound when the owner is a relation that is not there */
  create(caller: Caller, owner: Owner, input: AddressCreate, newId: string) {
    const id = belonging(owner.mvUid, newId)
    const address = { ...complete(fields, input), ...ownedBy(owner) }
    if (owner.relationId === null) return this.store.create(caller, address, privateTo(owner.mvUid), { id })
    return unlessMade(
      () =>
        inTransaction(this.#records, async (tx) => {
          await takeTurn(this.#records, tx, owner.mvUid)
          await this.#relations.require(caller, owner, tx)
          return this.store.create(caller, address, privateTo(owner.mvUid), { tx, id })
        }),
      () => this.get(caller, owner, newId),
    )
  }

  /** @throws NotFound; PreconditionFailed */
  update(caller: Caller, owner: Owner, id: string, input: AddressCreate, ifMatch: IfMatch) {
    const next = { ...complete(fields, input), ...ownedBy(owner) }
    return this.store.update(caller, keyOf(owner, id), () => next, { ifMatch })
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, owner: Owner, id: string, ifMatch: IfMatch): Promise<void> {
    return this.store.remove(caller, keyOf(owner, id), { ifMatch })
  }
}
