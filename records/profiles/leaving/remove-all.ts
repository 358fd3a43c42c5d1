import type { Caller } from '../../store/documents/caller.ts'
import type { Page } from '../../store/reading/listing.ts'
import type { Transaction } from '../../store/writing/transaction.ts'
import { type Owner, ownedBy } from '../owner/owner.ts'

interface OwnedStore {
  list(
    caller: Caller,
    name: 'own',
    query: { where: { owner: string }; limit: number },
    joined: { tx: Transaction },
  ): Promise<Page<{ id: string }>>
  remove(caller: Caller, key: { id: string }, joined: { tx: Transaction }): Promise<void>
}

/** Removes all records of one owner, each with its history entry. */
export async function removeAll(
  store: OwnedStore,
  caller: Caller,
  tx: Transaction,
  owner: Owner,
): Promise<void> {
  for (;;) {
    const { items } = await store.list(caller, 'own', { where: ownedBy(owner), limit: 100 }, { tx })
    if (items.length === 0) return
    for (const { id } of items) await store.remove(caller, { id }, { tx })
  }
}
