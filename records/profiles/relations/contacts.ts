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

/**
 * The change concerns the type or the primary flag, so other contacts of the owner may have to change, too.
 */
class PrimaryChangeError extends Error {}

/**
 * The contacts of persons and of their relations. Of each type an owner has exactly one primary contact, even
 * under concurrent writes. The first contact is primary, and a new primary one replaces it. When the primary
 * one is deleted, changes its type or gives up the flag, the oldest other contact becomes primary.
 */
export class Contacts extends ContactDetails<typeof StoredContact> {
  readonly #addresses

  constructor(records: StoreContext, relations: Relations) {
    super(records, relations, PROFILE_COLLECTIONS.contact, StoredContact)
    this.#addresses = documentCollection(records, PROFILE_COLLECTIONS.address)
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
    return this.createWithLock(caller, owner, newId, permissions, async (tx, id) => ({
      ...next,
      primary: await this.#settlePrimary(caller, tx, next, id),
    }))
  }

  /** @throws NotFound; PreconditionFailed; RuleViolated for a value of another type */
  async update(caller: Caller, owner: Owner, id: string, input: ContactCreate, expected: ExpectedVersions) {
    const next = await this.#buildContact(owner, input)
    const key = ownedRecordKey(owner, id)
    const keepPlace = (now: StoredContact) => {
      if (now.type !== next.type || now.primary !== next.primary) throw new PrimaryChangeError()
      return next
    }
    try {
      return await this.store.update(caller, key, keepPlace, { expected })
    } catch (error) {
      if (!(error instanceof PrimaryChangeError)) throw error
    }
    return this.runWithProfileLock(owner, async (tx) => {
      const before = await this.store.get(caller, key, { tx })
      const primary = await this.#settlePrimary(caller, tx, next, key.id)
      if (before.primary && before.type !== next.type) await this.#promoteOldest(caller, tx, before)
      return this.store.update(caller, key, () => ({ ...next, primary }), { tx, expected })
    })
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, owner: Owner, id: string, expected: ExpectedVersions): Promise<void> {
    return this.runWithProfileLock(owner, async (tx) => {
      const before = await this.get(caller, owner, id, tx)
      await this.store.remove(caller, ownedRecordKey(owner, id), { tx, expected })
      if (before.primary) await this.#promoteOldest(caller, tx, before)
    })
  }

  /**
   * Whether the contact becomes the primary one of its type; changes the flags of the other contacts
   * accordingly.
   */
  async #settlePrimary(caller: Caller, tx: Transaction, next: StoredContact, id: string): Promise<boolean> {
    const { owner, type } = next
    const current = await this.#findFirst(caller, tx, { owner, type, primary: true, id: { not: id } })
    if (next.primary) {
      if (current) await this.#setPrimary(caller, tx, current, false)
      return true
    }
    return current === undefined && !(await this.#promoteOldest(caller, tx, { ...next, id }))
  }

  /** Makes the oldest other contact of the same owner and type primary. @returns whether there was one */
  async #promoteOldest(
    caller: Caller,
    tx: Transaction,
    one: StoredContact & { id: string },
  ): Promise<boolean> {
    const { owner, type, id } = one
    const oldest = await this.#findFirst(caller, tx, { owner, type, id: { not: id } })
    if (oldest) await this.#setPrimary(caller, tx, oldest, true)
    return oldest !== undefined
  }

  async #findFirst(caller: Caller, tx: Transaction, where: Where<StoredContact>) {
    const { items } = await this.store.list(caller, 'own', { where, limit: 1 }, { tx })
    return items[0]
  }

  async #setPrimary(
    caller: Caller,
    tx: Transaction,
    { id }: { id: string },
    primary: boolean,
  ): Promise<void> {
    await this.store.update(caller, { id }, (now) => ({ ...now, primary }), { tx })
  }
}
