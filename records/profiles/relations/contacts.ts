import { type Static, Type } from '@sinclair/typebox'
import { type ContactCreate, contactFields } from '../../../schemas/contact.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Where } from '../../store/reading/filter.ts'
import type { Records, Transaction } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { keyOf, type Owner, ownerFields, privateTo, sharedByConnection } from '../owner/owner.ts'
import { Belongings } from './belongings.ts'
import { requireFittingValue } from './contact-value.ts'
import type { Relations } from './relations.ts'

const StoredContact = Type.Object({ ...ownerFields, ...contactFields })
type StoredContact = Static<typeof StoredContact>

/** A contact's type or whether it is the primary one changes: others of its owner may have to follow. */
class ChangesPlace extends Error {}

/**
 * The contacts of persons and of their relations. Of those of one owner and one type exactly one is the primary one,
 * whoever writes at the same time: a new one takes over, the first one is it at once, and when it goes, changes its
 * type or gives up being primary, the oldest other one follows.
 */
export class Contacts extends Belongings<typeof StoredContact> {
  constructor(records: Records, relations: Relations) {
    super(records, relations, collections.contact, StoredContact)
  }

  /** @throws NotFound when the owner is a relation that is not there; RuleViolated for a value of another type */
  create(caller: Caller, owner: Owner, input: ContactCreate, newId: string) {
    requireFittingValue(input)
    const next = this.ofInput(owner, input)
    const permissions = owner.relationId === null ? sharedByConnection(owner.mvUid) : privateTo(owner.mvUid)
    return this.createInTurn(caller, owner, newId, permissions, async (tx, id) => ({
      ...next,
      primary: await this.#settle(caller, tx, next, id),
    }))
  }

  /** @throws NotFound; PreconditionFailed; RuleViolated for a value of another type */
  async update(caller: Caller, owner: Owner, id: string, input: ContactCreate, expected: Expected) {
    requireFittingValue(input)
    const next = this.ofInput(owner, input)
    const key = keyOf(owner, id)
    const keepPlace = (now: StoredContact) => {
      if (now.type !== next.type || now.primary !== next.primary) throw new ChangesPlace()
      return next
    }
    try {
      return await this.store.update(caller, key, keepPlace, { expected })
    } catch (error) {
      if (!(error instanceof ChangesPlace)) throw error
    }
    return this.inTurn(owner, async (tx) => {
      const before = await this.store.get(caller, key, { tx })
      const primary = await this.#settle(caller, tx, next, key.id)
      if (before.primary && before.type !== next.type) await this.#promoteOldest(caller, tx, before)
      return this.store.update(caller, key, () => ({ ...next, primary }), { tx, expected })
    })
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, owner: Owner, id: string, expected: Expected): Promise<void> {
    return this.inTurn(owner, async (tx) => {
      const before = await this.get(caller, owner, id, tx)
      await this.store.remove(caller, keyOf(owner, id), { tx, expected })
      if (before.primary) await this.#promoteOldest(caller, tx, before)
    })
  }

  /** Whether the contact about to be written is the primary one of its type; the others make way or follow. */
  async #settle(caller: Caller, tx: Transaction, next: StoredContact, id: string): Promise<boolean> {
    const { owner, type } = next
    const current = await this.#first(caller, tx, { owner, type, primary: true, id: { not: id } })
    if (next.primary) {
      if (current) await this.#mark(caller, tx, current, false)
      return true
    }
    return current === undefined && !(await this.#promoteOldest(caller, tx, { ...next, id }))
  }

  /** Makes the oldest contact of the same owner and type the primary one. @returns whether there was another one */
  async #promoteOldest(
    caller: Caller,
    tx: Transaction,
    one: StoredContact & { id: string },
  ): Promise<boolean> {
    const { owner, type, id } = one
    const oldest = await this.#first(caller, tx, { owner, type, id: { not: id } })
    if (oldest) await this.#mark(caller, tx, oldest, true)
    return oldest !== undefined
  }

  async #first(caller: Caller, tx: Transaction, where: Where<StoredContact>) {
    const { items } = await this.store.list(caller, 'own', { where, limit: 1 }, { tx })
    return items[0]
  }

  async #mark(caller: Caller, tx: Transaction, { id }: { id: string }, primary: boolean): Promise<void> {
    await this.store.update(caller, { id }, (now) => ({ ...now, primary }), { tx })
  }
}
