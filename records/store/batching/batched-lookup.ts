import { createBatcher } from './micro-batcher.ts'

/** Further ids go into the next query. */
const MAX_IDS_PER_QUERY = 200

/**
 * Batches lookups by id, like a data loader: those of the same moment, or during a query, share one. So an idle
 * database answers at once, a busy one gets fewer queries, and no result is older than its request. @throws Unavailable
 * @param find finds the objects with these ids, in any order; callers with equal ids share one result
 */
export function createBatchedLookup<T extends { _id: string }>(
  find: (ids: string[]) => Promise<T[]>,
): (id: string) => Promise<T | undefined> {
  const { add } = createBatcher<string, T | undefined>(MAX_IDS_PER_QUERY, async (ids) => {
    const documents = new Map((await find([...new Set(ids)])).map((one) => [one._id, one]))
    return ids.map((id) => documents.get(id))
  })
  return add
}

/**
 * Shares a read between its callers: those of the same moment, or during a read, share the next one. So no result is
 * older than its request. @throws Unavailable
 */
export function createSharedRead<T>(read: () => Promise<T>): () => Promise<T> {
  const { add } = createBatcher<undefined, T>(Number.POSITIVE_INFINITY, async (callers) => {
    const result = await read()
    return callers.map(() => result)
  })
  return () => add(undefined)
}
