import { Type } from '@sinclair/typebox'
import { type AddressCreate, addressFields } from '../../../schemas/profiles/address.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import type { StoreContext } from '../../store/writing/transaction.ts'
import { type Owner, ownedRecordKey, ownerFields, privatePermissions } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import { ContactDetails } from './contact-details.ts'
import type { Relations } from './relations.ts'

const StoredAddress = Type.Object({ ...ownerFields, ...addressFields })

/** The addresses of persons and of their relations. */
export class Addresses extends ContactDetails<typeof StoredAddress> {
  constructor(context: StoreContext, relations: Relations) {
    super(context, relations, PROFILE_COLLECTIONS.address, StoredAddress)
  }

  /** @throws as createWithLock */
  create(caller: Caller, owner: Owner, input: AddressCreate, newId: string) {
    const address = this.buildRecord(owner, input)
    return this.createWithLock(caller, owner, newId, privatePermissions(owner.mvUid), async () => address)
  }

  /** @throws NotFound; PreconditionFailed */
  update(caller: Caller, owner: Owner, id: string, input: AddressCreate, expected: ExpectedVersions) {
    const next = this.buildRecord(owner, input)
    return this.store.update(caller, ownedRecordKey(owner, id), () => next, { expected })
  }
}
