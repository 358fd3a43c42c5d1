import { type Static, Type } from '@sinclair/typebox'
import { type ContactCreate, contactFields } from '../../../schemas/profiles/contact.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import type { Where } from '../../store/reading/filter.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import type { StoreContext, Transaction } from '../../store/writing/transaction.ts'
import {
  type Owner,
  ownedRecordKey,
  ownerFieldOf,
  ownerFields,
  permissionsSharedWithConnections,
  privatePermissions,
} from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import { ContactDetails } from './contact-details.ts'
import { internationalNumberOf, requireValidContactValue } from './contact-value.ts'
import type { Relations } from './relations.ts'

const StoredContact = Type.Object({ ...ownerFields, ...contactFields })
type StoredContact = Static<typeof StoredContact>

/** The contact becomes the primary one of its type, so another contact of the owner may have to change, too. */
class PrimaryChangeError extends Error {}

/**
 * The contacts of persons and of their relations. Of each type an owner has at most one primary contact, even
 * under concurrent writes: a new primary one takes over from the former.
 */
export class Contacts extends ContactDetails<typeof StoredContact> {
  readonly #addresses

  constructor(context: StoreContext, relations: Relations) {
    super(context, relations, PROFILE_COLLECTIONS.contact, StoredContact)
    this.#addresses = documentCollection(context, PROFILE_COLLECTIONS.address)
  }

  async #buildContact(owner: Owner, input: ContactCreate): Promise<StoredContact> {
    requireValidContactValue(input)
    const address = await this.#addresses.findOne({
      ...ownerFieldOf(owner),
      country: { $type: 'string' },
    })
    const internationalNumber = internationalNumberOf(input, address?.country)
    return { ...this.buildRecord(owner, input), internationalNumber }
  }

  /**
   * @throws NotFound when the owner is a relation that does not exist; RuleViolated for a value of another
   * type
   */
  async create(caller: Caller, owner: Owner, input: ContactCreate, newId: string) {
    const next = await this.#buildContact(owner, input)
    const permissions =
      owner.relationId === null
        ? permissionsSharedWithConnections(owner.mvUid)
        : privatePermissions(owner.mvUid)
    return this.createWithLock(caller, owner, newId, permissions, async (tx, id) => {
      if (next.primary) await this.#demoteFormer(caller, tx, next, id)
      return next
    })
  }

  /** @throws NotFound; PreconditionFailed; RuleViolated for a value of another type */
  async update(caller: Caller, owner: Owner, id: string, input: ContactCreate, expected: ExpectedVersions) {
    const next = await this.#buildContact(owner, input)
    const key = ownedRecordKey(owner, id)
    const changeAlone = (current: StoredContact) => {
      if (next.primary && !(current.primary && current.type === next.type)) throw new PrimaryChangeError()
      return next
    }
    try {
      return await this.store.update(caller, key, changeAlone, { expected })
    } catch (error) {
      if (!(error instanceof PrimaryChangeError)) throw error
    }
    return this.runWithProfileLock(owner, async (tx) => {
      await this.#demoteFormer(caller, tx, next, key.id)
      return this.store.update(caller, key, () => next, { tx, expected })
    })
  }

  /** Takes the flag from the former primary contact of the type of a new one. */
  async #demoteFormer(
    caller: Caller,
    tx: Transaction,
    { owner, type }: StoredContact,
    newId: string,
  ): Promise<void> {
    const where: Where<StoredContact> = { owner, type, primary: true, id: { not: newId } }
    const { items } = await this.store.list(caller, 'own', { where, limit: 1 }, { tx })
    for (const { id } of items)
      await this.store.update(caller, { id }, (current) => ({ ...current, primary: false }), { tx })
  }
}
