import { type Static, Type } from '@sinclair/typebox'
import type { ChangeAuthorNames } from '../../../schemas/change.ts'
import { ifNotFound, ServiceError } from '../../../schemas/errors.ts'
import { type PersonUpdate, profileFields } from '../../../schemas/profiles/person.ts'
import { personalDataOf, usersOf } from '../../accounts/user/user.ts'
import { findAnonymizedEhrs, findSubjectsOf } from '../../ehrs/rights/anonymity.ts'
import { type Caller, serviceCaller } from '../../store/documents/caller.ts'
import { documentCollection } from '../../store/documents/database.ts'
import { createParseFormat, type SavedRecord } from '../../store/documents/parse-format.ts'
import { Store } from '../../store/store.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { createOrFindExisting } from '../../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'
import { normaliseBody } from '../storage/normalise-body.ts'
import { permissionsSharedWithConnections } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import { findDeletedProfiles, firstPersonVersion, isProfileDeleted } from '../storage/profile-lock.ts'
import { requirePossibleBirthDate } from './birth-date.ts'
import { findLanguage } from './language.ts'

const personSchema = Type.Object(profileFields)
const StoredPerson = Type.Object({
  ...profileFields,
  /**
   * Whether the person has a picture; part of the record so that a change of the picture changes its version.
   */
  picture: Type.Boolean(),
})
export type StoredPerson = SavedRecord<Static<typeof StoredPerson>>

const personFormat = createParseFormat(StoredPerson)

type PersonCard = Pick<StoredPerson, 'name' | 'birthDate' | 'gender'>

type PersonInput = Omit<PersonUpdate, 'id' | 'picture'>

/** The persons behind the accounts; a person's id is the user's id. */
export class Persons {
  readonly #context: StoreContext
  readonly store

  constructor(context: StoreContext) {
    this.#context = context
    this.store = new Store(context, {
      collection: PROFILE_COLLECTIONS.person,
      schema: StoredPerson,
      lists: {},
    })
  }

  /** @throws NotFound for a removed person */
  async get(caller: Caller, mvUid: string): Promise<StoredPerson> {
    try {
      return await this.store.get(caller, { id: mvUid })
    } catch (error) {
      if (!isServiceError(error, 'NotFound') || !(await this.#createFromAccount(mvUid))) throw error
      return this.store.get(caller, { id: mvUid })
    }
  }

  /**
   * Saves the complete person, also after a removal.
   * @throws PreconditionFailed, also when a version is expected and the person does not exist; RuleViolated
   */
  async save(
    caller: Caller,
    mvUid: string,
    input: PersonInput,
    expected: ExpectedVersions,
  ): Promise<StoredPerson> {
    requirePossibleBirthDate(input)
    const next = normaliseBody(personSchema, input)
    const update = () =>
      this.store.update(caller, { id: mvUid }, ({ picture }) => ({ ...next, picture }), { expected })
    try {
      return await update()
    } catch (error) {
      if (!isServiceError(error, 'NotFound')) throw error
    }
    if (await this.#createFromAccount(mvUid)) return update()
    if (expected !== undefined) throw new ServiceError('PreconditionFailed')
    const first = { ...next, picture: false }
    const permissions = permissionsSharedWithConnections(mvUid)
    const create = async (tx: Transaction) => {
      const version = await firstPersonVersion(this.#context, tx, mvUid)
      return this.store.create(caller, first, permissions, { tx, id: mvUid, first: { version } })
    }
    return createOrFindExisting(() => runStoreTransaction(this.#context, create), update)
  }

  /** Records whether the person has a picture. @returns whether there was one before, and the new version; @throws NotFound */
  async setHasPicture(
    caller: Caller,
    mvUid: string,
    tx: Transaction,
    picture: boolean,
  ): Promise<{ hadPicture: boolean; version: number }> {
    const before = await this.store.get(caller, { id: mvUid }, { tx })
    const person = await this.store.update(caller, { id: mvUid }, (current) => ({ ...current, picture }), {
      tx,
    })
    return { hadPicture: before.picture, version: person.version }
  }

  /** The display names of persons, by id. Users who never had a person have the name of their account, if any. */
  async namesOf(mvUids: readonly string[]): Promise<Map<string, string>> {
    const persons = this.#context.db.collection<{ _id: string; name: { displayName: string } }>(
      PROFILE_COLLECTIONS.person,
    )
    const namedPersons = await persons
      .find({ _id: { $in: [...new Set(mvUids)] } }, { projection: { name: 1 } })
      .toArray()
    const names = new Map(namedPersons.map(({ _id, name }) => [_id, name.displayName]))
    const unnamedIds = [...new Set(mvUids)].filter((mvUid) => !names.has(mvUid))
    return unnamedIds.length === 0 ? names : new Map([...names, ...(await this.#accountNamesOf(unnamedIds))])
  }

  /** The display names of users, without those whom the caller cares for in anonymous care plans only. */
  async namesKnownTo(caller: Caller, mvUids: readonly string[]): Promise<Map<string, string>> {
    const anonymizedIds = await findAnonymizedEhrs(this.#context, caller)
    const hiddenIds = await findSubjectsOf(this.#context, anonymizedIds)
    return this.namesOf(mvUids.filter((mvUid) => !hiddenIds.has(mvUid)))
  }

  async #accountNamesOf(mvUids: readonly string[]): Promise<[mvUid: string, name: string][]> {
    const accounts = await usersOf(this.#context.db)
      .find({ _id: { $in: [...mvUids] }, name: { $exists: true } }, { projection: { name: 1 } })
      .toArray()
    if (accounts.length === 0) return []
    const deletedIds = await findDeletedProfiles(this.#context, mvUids)
    return accounts.flatMap((account) => {
      const { name } = personalDataOf(account)
      return name && !deletedIds.has(account._id) ? [[account._id, name]] : []
    })
  }

  /**
   * Adds the names of the users who changed a record of an EHR. Those who see the EHR only through anonymous care plans
   * learn no names.
   */
  async nameAuthors<C extends { userId: string; onBehalfOf: string | null }>(
    caller: Caller,
    ehrId: string | null,
    changes: readonly C[],
  ): Promise<(C & ChangeAuthorNames)[]> {
    const isAnonymous = ehrId !== null && (await findAnonymizedEhrs(this.#context, caller)).has(ehrId)
    const users = changes.flatMap(({ userId, onBehalfOf }) => [userId, onBehalfOf ?? []].flat())
    const names = await this.namesOf(isAnonymous ? [] : users)
    return changes.map((change) => ({
      ...change,
      userName: names.get(change.userId) ?? null,
      onBehalfOfName: names.get(change.onBehalfOf ?? '') ?? null,
    }))
  }

  /** The data of users that those who care for them may know, by id. Users who do not exist have none. */
  async cardsOf(mvUids: readonly string[]): Promise<Map<string, PersonCard>> {
    const persons = documentCollection(this.#context, PROFILE_COLLECTIONS.person)
    const storedPersons = await persons.find({ _id: { $in: [...new Set(mvUids)] } }).toArray()
    const cards = new Map<string, PersonCard>(
      storedPersons.map((one) => [one._id, personFormat.fromStored(one)]),
    )
    for (const mvUid of mvUids) {
      const person = cards.has(mvUid)
        ? undefined
        : await this.get(serviceCaller, mvUid).catch(ifNotFound(undefined))
      if (person) cards.set(mvUid, person)
    }
    return cards
  }

  /** The time zone in which the days of a user begin. */
  async findTimeZone(mvUid: string): Promise<string | undefined> {
    const persons = this.#context.db.collection<{ _id: string; timeZone?: string | null }>(
      PROFILE_COLLECTIONS.person,
    )
    const person = await persons.findOne({ _id: mvUid }, { projection: { timeZone: 1 } })
    return person?.timeZone ?? undefined
  }

  /** The language that a user has chosen: the account's, otherwise the profile's. */
  findLanguage(mvUid: string): Promise<string | undefined> {
    return findLanguage(this.#context.db, { _id: mvUid })
  }

  /**
   * Creates the person of an account that never had one, with the account's name.
   * @returns false when the account does not exist, or its person was removed on purpose
   */
  async #createFromAccount(mvUid: string): Promise<boolean> {
    const user = await usersOf(this.#context.db).findOne({ _id: mvUid })
    if (user === null || (await isProfileDeleted(this.#context, mvUid))) return false
    const { name, language } = personalDataOf(user)
    const displayName = name ?? user.email.slice(0, Math.min(user.email.indexOf('@'), 200))
    const person = normaliseBody(personSchema, { name: { displayName }, language })
    const self = { ...serviceCaller, userId: mvUid }
    const permissions = permissionsSharedWithConnections(mvUid)
    await createOrFindExisting(
      () => this.store.create(self, { ...person, picture: false }, permissions, { id: mvUid }),
      () => this.store.get(self, { id: mvUid }),
    )
    return true
  }
}

const isServiceError = (error: unknown, name: ServiceError['error']): boolean =>
  error instanceof ServiceError && error.error === name
