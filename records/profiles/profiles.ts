import type { ClientSession, IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Caller } from '../store/documents/caller.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { createHistoryEntry } from '../store/writing/history.ts'
import { runStoreTransaction, type StoreContext } from '../store/writing/transaction.ts'
import { erasePerson } from './account-data/erasure.ts'
import { exportPerson } from './account-data/export.ts'
import { Connections, isExistingUser } from './connections.ts'
import { Persons } from './person/persons.ts'
import { Pictures } from './person/pictures.ts'
import { Addresses } from './relations/addresses.ts'
import { Contacts } from './relations/contacts.ts'
import { Relations } from './relations/relations.ts'
import { connectionRole } from './storage/owner.ts'
import { PERSON_COLLECTIONS, PROFILE_COLLECTIONS } from './storage/profile-collections.ts'
import { forgetProfileState, lockProfile, recordProfileDeletion } from './storage/profile-lock.ts'

/** The stores of all data about the persons behind the accounts. */
export class Profiles {
  readonly #context: StoreContext
  readonly persons: Persons
  readonly pictures: Pictures
  readonly relations: Relations
  readonly addresses: Addresses
  readonly contacts: Contacts
  readonly connections: Connections

  constructor(context: StoreContext) {
    this.#context = context
    this.persons = new Persons(context)
    this.pictures = new Pictures(context, this.persons)
    this.relations = new Relations(context)
    this.addresses = new Addresses(context, this.relations)
    this.contacts = new Contacts(context, this.relations)
    this.connections = new Connections(context)
  }

  /** The collections and their indexes, which the server creates on startup. */
  indexes(): [collection: string, IndexDescription[]][] {
    const { persons, pictures, relations, addresses, contacts, connections } = this
    return [persons, pictures, relations, addresses, contacts, connections].map(({ store }) =>
      store.indexes(),
    )
  }

  /** Whether a user has this id, even without a profile. */
  isUser(mvUid: string): Promise<boolean> {
    return isExistingUser(this.#context, mvUid)
  }

  /** Exports everything stored about a person, as one line of JSON for each document; see exportPerson. */
  export(caller: Caller, mvUid: string): AsyncGenerator<string> {
    return exportPerson(this.#context, caller, mvUid)
  }

  /** Deletes a relation with its addresses and contacts. @throws NotFound; PreconditionFailed */
  removeRelation(
    caller: Caller,
    mvUid: string,
    relationId: number,
    expected: ExpectedVersions,
  ): Promise<void> {
    return runStoreTransaction(this.#context, async (tx) => {
      await lockProfile(this.#context, tx, mvUid)
      const { id } = await this.relations.get(caller, mvUid, relationId, tx)
      await this.relations.store.remove(caller, { id }, { tx, expected })
      for (const belongings of [this.addresses, this.contacts])
        await belongings.removeAll(caller, tx, { mvUid, relationId })
    })
  }

  /**
   * Deletes a person with their agreements. The account stays with what belongs to its work: handovers, worklist views,
   * subscriptions and conversations.
   * @throws NotFound; PreconditionFailed
   */
  async remove(caller: Caller, mvUid: string, expected: ExpectedVersions): Promise<void> {
    await this.persons.get(caller, mvUid)
    return runStoreTransaction(this.#context, async (tx) => {
      const { version } = await this.persons.store.get(caller, { id: mvUid }, { tx })
      if (Array.isArray(expected) && !expected.includes(version))
        throw new ServiceError('PreconditionFailed', { version })
      await erasePerson(this.#context, mvUid, tx.session, PERSON_COLLECTIONS)
      const commit = { caller, at: this.#context.clock() }
      const removal = { action: 'delete' as const, version: version + 1, before: null, changed: [] }
      await recordProfileDeletion(this.#context, tx, mvUid, removal.version)
      tx.changes.push(
        createHistoryEntry({ collection: PROFILE_COLLECTIONS.person, id: mvUid }, commit, removal),
      )
    })
  }

  /** Erases everything stored about a person in the transaction that deletes the account. */
  async eraseWithAccount(session: ClientSession, mvUid: string): Promise<void> {
    await erasePerson(this.#context, mvUid, session, PROFILE_COLLECTIONS)
    await forgetProfileState(this.#context, mvUid, session)
  }
}

/** The caller with the rights of a connected user. The access rule must have checked the connection. */
export const asConnection = (caller: Caller, mvUid: string): Caller => ({
  ...caller,
  roles: [...caller.roles, connectionRole(mvUid)],
  // The person lies outside the EHR to which an app is limited.
  compartment: caller.compartment && `role:${connectionRole(mvUid)}`,
})
