import { Type } from '@sinclair/typebox'
import { Binary } from 'mongodb'
import { PictureTypeEnum } from '../../../schemas/enum.ts'
import type { Expected } from '../../store/decisions.ts'
import type { Caller } from '../../store/documents/caller.ts'
import { Store } from '../../store/store.ts'
import { inTransaction, type Records } from '../../store/writing/transaction.ts'
import { collections } from '../owner/collections.ts'
import { sharedByConnection } from '../owner/owner.ts'
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
  readonly #records: Records
  readonly #persons: Persons
  readonly store

  constructor(records: Records, persons: Persons) {
    this.#records = records
    this.#persons = persons
    this.store = new Store(records, { collection: collections.picture, schema: StoredPicture, lists: {} })
  }

  /** @throws NotFound */
  async get(caller: Caller, mvUid: string) {
    const { bytes, ...picture } = await this.store.get(caller, { id: mvUid })
    return { ...picture, bytes: Buffer.from(bytes.value()) }
  }

  /** Keeps a picture, cleaned, in place of any former one. @throws NotFound when there is no such person; as cleanPicture */
  async save(caller: Caller, mvUid: string, bytes: Buffer) {
    const file = await cleanPicture(bytes)
    const picture = { ...file, bytes: new Binary(file.bytes) }
    const key = { id: mvUid }
    await this.#persons.get(caller, mvUid)
    const { version } = await inTransaction(this.#records, async (tx) => {
      const replaces = await this.#persons.notePicture(caller, mvUid, tx, true)
      return replaces
        ? this.store.update(caller, key, () => picture, { tx })
        : this.store.create(caller, picture, sharedByConnection(mvUid), { tx, ...key })
    })
    return { ...file, version }
  }

  /** @throws NotFound; PreconditionFailed */
  remove(caller: Caller, mvUid: string, expected: Expected): Promise<void> {
    return inTransaction(this.#records, async (tx) => {
      await this.store.remove(caller, { id: mvUid }, { tx, expected })
      await this.#persons.notePicture(caller, mvUid, tx, false)
    })
  }
}
