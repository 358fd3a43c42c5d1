import { Type } from '@sinclair/typebox'
import { Binary } from 'mongodb'
import { PictureTypeEnum } from '../../../schemas/enums.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { Store } from '../../store/store.ts'
import type { ExpectedVersions } from '../../store/write-decider.ts'
import { runStoreTransaction, type StoreContext } from '../../store/writing/transaction.ts'
import { permissionsSharedWithConnections } from '../storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../storage/profile-collections.ts'
import type { Persons } from './persons.ts'
import { cleanPicture } from './picture-file.ts'

const StoredPicture = Type.Object({
  type: PictureTypeEnum,
  width: Type.Integer(),
  height: Type.Integer(),
  bytes: Type.Unsafe<Binary>({ description: 'The file' }),
})

/** The persons' pictures; a picture's id is the user's id. */
export class Pictures {
  readonly #context: StoreContext
  readonly #persons: Persons
  readonly store

  constructor(context: StoreContext, persons: Persons) {
    this.#context = context
    this.#persons = persons
    this.store = new Store(context, {
      collection: PROFILE_COLLECTIONS.picture,
      schema: StoredPicture,
      lists: {},
    })
  }

  /** @throws NotFound */
  async get(caller: Caller, mvUid: string) {
    const { bytes, ...picture } = await this.store.get(caller, { id: mvUid })
    return { ...picture, bytes: Buffer.from(bytes.value()) }
  }

  /**
   * Saves a cleaned picture and replaces any earlier one.
   * @throws NotFound when there is no such person; as cleanPicture
   */
  async save(caller: Caller, mvUid: string, bytes: Buffer) {
    const file = await cleanPicture(bytes)
    const picture = { ...file, bytes: new Binary(file.bytes) }
    const key = { id: mvUid }
    await this.#persons.get(caller, mvUid)
    const { version } = await runStoreTransaction(this.#context, async (tx) => {
      const { hadPicture, version } = await this.#persons.setHasPicture(caller, mvUid, tx, true)
      if (hadPicture) return this.store.update(caller, key, () => picture, { tx })
      // Every change of the picture was a version of the person, so none of a removed picture occurs again.
      const permissions = permissionsSharedWithConnections(mvUid)
      return this.store.create(caller, picture, permissions, { tx, ...key, first: { version } })
    })
    return { ...file, version }
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, mvUid: string, expected: ExpectedVersions): Promise<void> {
    return runStoreTransaction(this.#context, async (tx) => {
      await this.store.remove(caller, { id: mvUid }, { tx, expected })
      await this.#persons.setHasPicture(caller, mvUid, tx, false)
    })
  }
}
