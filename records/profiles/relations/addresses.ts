import { Type } from '@sinclair/typebox'
import { type AddressCreate, addressFields } from '../../../schemas/address.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Records } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { belongingId, keyOf, type Owner, ownerFields, privateTo } from '../owner/owner.ts'
import { Belongings } from './belongings.ts'
import type { Relations } from './relations.ts'

const StoredAddress = Type.Object({ ...ownerFields, ...addressFields })

/** The addresses of persons and of their relations. */
export class Addresses extends Belongings<typeof StoredAddress> {
  constructor(records: Records, relations: Relations) {
    super(records, relations, collections.address, StoredAddress)
  }

  /** @throws NotFound when the owner is a relation that is not there */
  create(caller: Caller, owner: Owner, input: AddressCreate, newId: string) {
    const address = this.ofInput(owner, input)
    const permissions = privateTo(owner.mvUid)
    // A person is always there, so that their own address waits for nobody.
    return owner.relationId === null
      ? this.store.create(caller, address, permissions, { id: belongingId(owner.mvUid, newId) })
      : this.createInTurn(caller, owner, newId, permissions, async () => address)
  }

  /** @throws NotFound; PreconditionFailed */
  update(caller: Caller, owner: Owner, id: string, input: AddressCreate, expected: Expected) {
    const next = this.ofInput(owner, input)
    return this.store.update(caller, keyOf(owner, id), () => next, { expected })
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, owner: Owner, id: string, expected: Expected): Promise<void> {
    return this.store.remove(caller, keyOf(owner, id), { expected })
  }
}
