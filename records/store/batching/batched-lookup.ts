import { createBatcher } from './micro-batcher.ts'

/** Further ids go into the next query. */
const MAX_IDS_PER_QUERY = 200

/**
 * Batches lookups by id, like a data loader. Lookups of the same moment share one query; lookups that arrive
 * during a query share the next one. So an idle database answers at once, a busy one gets fewer queries, and
 * no result is older than its request.
 * @param find finds the objects with these ids, in any order; callers with equal ids share one result
 * @returns a function that finds one of them. @throws Unavailable when the lookup waits too long
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
