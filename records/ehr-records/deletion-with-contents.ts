import {
  hideContents,
  isContainerClass,
  showContents,
  waitForDeletion,
} from '../ehrs/deletion/cascading-deletion.ts'
import type { Caller } from '../store/documents/caller.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../store/writing/transaction.ts'
import { lockEhrExclusively, runWithEhrLock } from './parents/exclusive-ehr-lock.ts'

/** Completes the return of a deleted record, in the same transaction. */
export type OnReturn = (tx: Transaction) => Promise<void>

interface CollectionKey {
  collection: string
  id: string
}

/**
 * Deletes a record, and hides the contents of a container until it returns. Many contents are hidden by a job.
 * @param remove deletes the record itself, and returns the id of its EHR
 */
export async function deleteWithContents(
  context: StoreContext,
  caller: Caller,
  { collection, id }: CollectionKey,
  remove: (tx?: Transaction) => Promise<string>,
): Promise<void> {
  if (!isContainerClass(collection)) return void (await remove())
  await runStoreTransaction(context, async (tx) => {
    const ehrId = await remove(tx)
    await hideContents(context, tx, caller, collection, { id, ehrId })
    await lockEhrExclusively(context, tx, ehrId)
  })
  await waitForDeletion(context, collection, id)
}

/** Brings a deleted record back, and shows the contents of a container again. @param onReturn completes the return */
export async function returnWithContents<R>(
  context: StoreContext,
  caller: Caller,
  { collection, id, ehrId }: CollectionKey & { ehrId: string },
  returnRecord: (tx: Transaction) => Promise<R>,
  onReturn?: OnReturn,
): Promise<R> {
  const isContainer = isContainerClass(collection)
  const returnedRecord = await runWithEhrLock(context, ehrId, async (tx) => {
    const record = await returnRecord(tx)
    if (isContainer) await showContents(context, tx, caller, collection, { id, ehrId })
    await onReturn?.(tx)
    return record
  })
  if (isContainer) await waitForDeletion(context, collection, id)
  return returnedRecord
}
