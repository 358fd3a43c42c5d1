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
    const found = new Map((await find([...new Set(ids)])).map((one) => [one._id, one]))
    return ids.map((id) => found.get(id))
  })
  return add
}
