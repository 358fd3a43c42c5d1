import { Type } from '@sinclair/typebox'
import type { IndexDescription } from 'mongodb'
import { ServiceError } from '../../schemas/errors.ts'
import { WorklistViews } from '../../schemas/worklist/worklist-views.ts'
import { privatePermissions } from '../profiles/storage/owner.ts'
import { PROFILE_COLLECTIONS } from '../profiles/storage/profile-collections.ts'
import type { Caller } from '../store/documents/caller.ts'
import { Store } from '../store/store.ts'
import type { ExpectedVersions } from '../store/write-decider.ts'
import { createOrFindExisting } from '../store/writing/create-or-find-existing.ts'
import { runStoreTransaction, type StoreContext } from '../store/writing/transaction.ts'

const schema = Type.Object(WorklistViews.properties)

/** The saved views of each user: one document under the user's id. Version 0: none was saved. */
export class WorklistViewsStore {
  readonly #context: StoreContext
  readonly #store

  constructor(context: StoreContext) {
    this.#context = context
    this.#store = new Store(context, { collection: PROFILE_COLLECTIONS.worklistViews, schema, lists: {} })
  }

  indexes(): [collection: string, IndexDescription[]][] {
    return [this.#store.indexes()]
  }

  async get(caller: Caller): Promise<WorklistViews & { version: number }> {
    const { views, version } = (await this.#store.find(caller, { id: caller.userId })) ?? NONE
    return { views, version }
  }

  /** @throws PreconditionFailed */
  save(caller: Caller, { views }: WorklistViews, expected: ExpectedVersions) {
    const id = caller.userId
    const update = () => this.#store.update(caller, { id }, () => ({ views }), { expected })
    const isNew = !Array.isArray(expected) || expected.includes(0)
    return createOrFindExisting(async () => {
      if (await this.#store.find(caller, { id })) return update()
      if (!isNew) throw new ServiceError('PreconditionFailed', { version: 0 })
      return runStoreTransaction(this.#context, (tx) =>
        this.#store.create(caller, { views }, privatePermissions(id), { tx, id }),
      )
    }, update)
  }
}

const NONE = { views: [], version: 0 }
