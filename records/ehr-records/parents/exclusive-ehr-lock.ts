import { lockExclusive } from '../../store/writing/ehr-locks.ts'
import { runStoreTransaction, type StoreContext, type Transaction } from '../../store/writing/transaction.ts'

/** Locks one EHR exclusively: {@link lockExclusive}. */
export const lockEhrExclusively = (context: StoreContext, tx: Transaction, ehrId: string): Promise<void> =>
  lockExclusive(context, tx, [ehrId])

/**
 * Runs work that closes or removes records of an EHR, and locks the EHR exclusively in the same transaction.
 */
export const runWithEhrLock = <T>(
  context: StoreContext,
  ehrId: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> =>
  runStoreTransaction(context, async (tx) => {
    const result = await work(tx)
    await lockEhrExclusively(context, tx, ehrId)
    return result
  })

/** Replaces a plan or a goal, under the exclusive lock of the EHR if that closes it. */
export const replaceWithEhrLock = <T>(
  context: StoreContext,
  ehrId: string,
  { status }: { status?: string | null | undefined },
  replace: (tx?: Transaction) => Promise<T>,
): Promise<T> =>
  status === undefined || status === null || status === 'ACTIVE'
    ? replace()
    : runWithEhrLock(context, ehrId, replace)
