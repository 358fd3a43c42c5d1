import { Type } from '@sinclair/typebox'
import { type AddressCreate, addressFields } from '../../../schemas/profiles/address.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import {
  type Owner,
  ownedRecordId,
  ownedRecordKey,
  ownerFields,
  privatePermissions,
} from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import { ContactDetails } from './contact-details.ts'
import type { Relations } from './relations.ts'

const StoredAddress = Type.Object({ ...ownerFields, ...addressFields })

/** The addresses of persons and of their relations. */
export class Addresses extends ContactDetails<typeof StoredAddress> {
  constructor(records: StoreContext, relations: Relations) {
    super(records, relations, PROFILE_COLLECTIONS.address, StoredAddress)
  }

  /** @throws NotFound when the owner is a relation that does not exist */
  create(caller: Caller, owner: Owner, input: AddressCreate, newId: string) {
    const address = this.buildRecord(owner, input)
    const permissions = privatePermissions(owner.mvUid)
    // The person always exists, so only the address of a relation needs the profile lock.
    return owner.relationId === null
      ? this.store.create(caller, address, permissions, { id: ownedRecordId(owner.mvUid, newId) })
      : this.createWithLock(caller, owner, newId, permissions, async () => address)
  }

  /** @throws NotFound; PreconditionFailed */
  update(caller: Caller, owner: Owner, id: string, input: AddressCreate, expected: ExpectedVersions) {
    const next = this.buildRecord(owner, input)
    return this.store.update(caller, ownedRecordKey(owner, id), () => next, { expected })
  }
}
