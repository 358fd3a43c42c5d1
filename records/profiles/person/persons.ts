import { type Static, Type } from '@sinclair/typebox'
import { ServiceError } from '../../../schemas/errors.ts'
import { type PersonUpdate, userFields } from '../../../schemas/person.ts'
import { usersOf } from '../../accounts/user/user.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import type { Saved } from '../../store/documents/parse-format.ts'
import { Store } from '../../store/store.ts'
import { unlessMade } from '../../store/writing/once.ts'
import { inTransaction, type Records, type Transaction } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { wasRemoved } from '../owner/ledger.ts'
import { normalised } from '../owner/normalise.ts'
import { asService, sharedByConnection } from '../owner/owner.ts'
import { languageOf } from './language.ts'

const fields = Type.Object(userFields)
const StoredPerson = Type.Object({
  ...userFields,
  /** Whether there is a picture: with it the person's version changes. */
  picture: Type.Boolean(),
})
export type StoredPerson = Saved<Static<typeof StoredPerson>>

type PersonInput = Omit<PersonUpdate, 'id' | 'picture'>

/** The persons behind the accounts; a person's id is the user's id. */
export class Persons {
  readonly #records: Records
  readonly store

  constructor(records: Records) {
    this.#records = records
    this.store = new Store(records, { collection: collections.person, schema: StoredPerson, lists: {} })
  }

  /** @throws NotFound for a person who was removed */
  async get(caller: Caller, mvUid: string): Promise<StoredPerson> {
    try {
      return await this.store.get(caller, { id: mvUid })
    } catch (error) {
      if (!is(error, 'NotFound') || !(await this.#begin(mvUid))) throw error
      return this.store.get(caller, { id: mvUid })
    }
  }

  /**
   * Saves the complete person, anew after a removal.
   * @throws PreconditionFailed, also when a version is expected and there is none
   */
  async save(caller: Caller, mvUid: string, input: PersonInput, expected: Expected): Promise<StoredPerson> {
    const next = normalised(fields, input)
    const update = () =>
      this.store.update(caller, { id: mvUid }, ({ picture }) => ({ ...next, picture }), { expected })
    try {
      return await update()
    } catch (error) {
      if (!is(error, 'NotFound')) throw error
    }
    if (await this.#begin(mvUid)) return update()
    if (expected !== undefined) throw new ServiceError('PreconditionFailed')
    const first = { ...next, picture: false }
    const permissions = sharedByConnection(mvUid)
    const create = (tx: Transaction) => this.store.create(caller, first, permissions, { tx, id: mvUid })
    return unlessMade(() => inTransaction(this.#records, create), update)
  }

  /** Notes whether there is a picture. @returns whether there was one; @throws NotFound */
  async notePicture(caller: Caller, mvUid: string, tx: Transaction, picture: boolean): Promise<boolean> {
    const before = await this.store.get(caller, { id: mvUid }, { tx })
    await this.store.update(caller, { id: mvUid }, (now) => ({ ...now, picture }), { tx })
    return before.picture
  }

  /** How persons are called, by their ids: for whose record they looked at. Who has no person here has no name. */
  async namesOf(mvUids: readonly string[]): Promise<Map<string, string>> {
    const persons = this.#records.db.collection<{ _id: string; name: { displayName: string } }>(
      collections.person,
    )
    const found = await persons
      .find({ _id: { $in: [...new Set(mvUids)] } }, { projection: { name: 1 } })
      .toArray()
    return new Map(found.map(({ _id, name }) => [_id, name.displayName]))
  }

  /** By whose clocks the days of a user begin. */
  async timeZoneOf(mvUid: string): Promise<string | undefined> {
    const persons = this.#records.db.collection<{ _id: string; timeZone?: string | null }>(collections.person)
    const found = await persons.findOne({ _id: mvUid }, { projection: { timeZone: 1 } })
    return found?.timeZone ?? undefined
  }

  /** The language that a user has chosen, for the account or else in the profile. */
  languageOf(mvUid: string): Promise<string | undefined> {
    return languageOf(this.#records.db, { _id: mvUid })
  }

  /**
   * Makes the person of an account that never had one, by the name that the account tells.
   * @returns false when there is no such account, or its person was removed on purpose
   */
  async #begin(mvUid: string): Promise<boolean> {
    const user = await usersOf(this.#records.db).findOne({ _id: mvUid })
    if (user === null || (await wasRemoved(this.#records, mvUid))) return false
    const displayName = user.name ?? user.email.slice(0, user.email.indexOf('@'))
    const person = normalised(fields, { name: { displayName }, language: user.language })
    const self = { ...asService, userId: mvUid }
    await this.store.create(self, { ...person, picture: false }, sharedByConnection(mvUid), { id: mvUid })
    return true
  }
}

const is = (error: unknown, name: ServiceError['error']): boolean =>
  error instanceof ServiceError && error.error === name
