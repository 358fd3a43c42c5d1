import type { ClientSession, IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import type { Expected } from '../store/decisions.ts'
import type { Caller } from '../store/documents/caller.ts'
import { changeOf } from '../store/writing/history.ts'
import { inTransaction, type Records } from '../store/writing/transaction.ts'
import { Connections, isUser } from './connections.ts'
import { exportPerson } from './leaving/export.ts'
import { forgetPerson } from './leaving/forget.ts'
import { collections } from './owner/collections.ts'
import { closeLedger, noteRemoval, takeTurn } from './owner/ledger.ts'
import { connectionRole } from './owner/owner.ts'
import { Persons } from './person/persons.ts'
import { Pictures } from './person/pictures.ts'
import { Addresses } from './relations/addresses.ts'
import { Contacts } from './relations/contacts.ts'
import { Relations } from './relations/relations.ts'

/** All that is kept about the persons behind the accounts. */
export class Profiles {
  readonly #records: Records
  readonly persons: Persons
  readonly pictures: Pictures
  readonly relations: Relations
  readonly addresses: Addresses
  readonly contacts: Contacts
  readonly connections: Connections

  constructor(records: Records) {
    this.#records = records
    this.persons = new Persons(records)
    this.pictures = new Pictures(records, this.persons)
    this.relations = new Relations(records)
    this.addresses = new Addresses(records, this.relations)
    this.contacts = new Contacts(records, this.relations)
    this.connections = new Connections(records)
  }

  /** The collections and the indexes that they need: server start creates them. */
  indexes(): [collection: string, IndexDescription[]][] {
    const { persons, pictures, relations, addresses, contacts, connections } = this
    return [persons, pictures, relations, addresses, contacts, connections].map(({ store }) =>
      store.indexes(),
    )
  }

  /** Whether there is a user with this id, whether or not anything is kept about the person. */
  isUser(mvUid: string): Promise<boolean> {
    return isUser(this.#records, mvUid)
  }

  /** All that is kept about a person, one line of JSON each; see exportPerson. */
  export(caller: Caller, mvUid: string): AsyncGenerator<string> {
    return exportPerson(this.#records, caller, mvUid)
  }

  /** Removes a relation with its addresses and contacts. @throws NotFound; PreconditionFailed */
  removeRelation(caller: Caller, mvUid: string, relationId: number, expected: Expected): Promise<void> {
    return inTransaction(this.#records, async (tx) => {
      await takeTurn(this.#records, tx, mvUid)
      const { id } = await this.relations.get(caller, mvUid, relationId, tx)
      await this.relations.store.remove(caller, { id }, { tx, expected })
      for (const belongings of [this.addresses, this.contacts])
        await belongings.removeAll(caller, tx, { mvUid, relationId })
    })
  }

  /** Removes a person with everything that is kept about them; the account stays. @throws NotFound; PreconditionFailed */
  async remove(caller: Caller, mvUid: string, expected: Expected): Promise<void> {
    await this.persons.get(caller, mvUid)
    return inTransaction(this.#records, async (tx) => {
      const { version } = await this.persons.store.get(caller, { id: mvUid }, { tx })
      if (Array.isArray(expected) && !expected.includes(version))
        throw new ServiceError('PreconditionFailed', { version })
      await forgetPerson(this.#records, mvUid, tx.session)
      await noteRemoval(this.#records, tx, mvUid)
      const by = { caller, at: this.#records.clock() }
      const removal = { action: 'delete' as const, version: version + 1, before: null, changed: [] }
      tx.changes.push(changeOf({ collection: collections.person, id: mvUid }, by, removal))
    })
  }

  /** Removes everything that is kept about the person of an account that goes, in its transaction. */
  async forget(session: ClientSession, mvUid: string): Promise<void> {
    await forgetPerson(this.#records, mvUid, session)
    await closeLedger(this.#records, mvUid, session)
  }
}

/** The caller as one who is connected with this user. The access rule has to have found that out. */
export const asConnection = (caller: Caller, mvUid: string): Caller => ({
  ...caller,
  roles: [...caller.roles, connectionRole(mvUid)],
})
