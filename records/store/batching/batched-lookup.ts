import { setImmediate } from 'node:timers/promises'
import { Queue } from './queue.ts'

/** Finds an object by its id. @throws Unavailable when the lookup waits too long */
export type BatchedLookup<T> = (id: string) => Promise<T | undefined>

interface PendingLookup<T> {
  id: string
  resolve(found: T | undefined): void
  reject(reason: unknown): void
}

/** Further ids go into the next query. */
const MAX_IDS_PER_QUERY = 200

/**
 * Batches lookups by id, like a data loader. Lookups of the same moment share one query; lookups that arrive
 * during a query share the next one. So an idle database answers at once, a busy one gets fewer queries, and
 * no result is older than its request.
 * @param find finds the objects with these ids, in any order; callers with equal ids share one result
 */
export function createBatchedLookup<T extends { _id: string }>(
  find: (ids: string[]) => Promise<T[]>,
): BatchedLookup<T> {
  const waiting = new Queue<PendingLookup<T>>()
  let running = false

  const run = async (): Promise<void> => {
    running = true
    await setImmediate()
    while (waiting.length > 0) {
      const batch = waiting.take(MAX_IDS_PER_QUERY)
      try {
        const found = new Map(
          (await find([...new Set(batch.map(({ id }) => id))])).map((one) => [one._id, one]),
        )
        for (const { id, resolve } of batch) resolve(found.get(id))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = false
  }
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.add({ id, resolve, reject })
      if (!running) void run()
    })
}
