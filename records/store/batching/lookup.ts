import { setImmediate } from 'node:timers/promises'
import { Queue } from './waiting.ts'

/** Finds one by its id. @throws Unavailable when its turn does not come */
export type Lookup<T> = (id: string) => Promise<T | undefined>

interface Waiting<T> {
  id: string
  resolve(found: T | undefined): void
  reject(reason: unknown): void
}

/** More are left for the next turn. */
const MOST_IDS = 200

/**
 * Lookups by id that share queries: those of the same moment share one, and those that arrive while one is under way
 * share the next. So an idle database answers at once, a busy one gets fewer queries, and no result is older than its
 * request.
 * @param find the ones with these ids, in any order; each caller gets what was found, the same when ids are equal
 */
export function createLookup<T>(idOf: (one: T) => string, find: (ids: string[]) => Promise<T[]>): Lookup<T> {
  const waiting = new Queue<Waiting<T>>()
  let running = false

  const run = async (): Promise<void> => {
    running = true
    await setImmediate()
    while (waiting.length > 0) {
      const batch = waiting.take(MOST_IDS)
      try {
        const found = new Map(
          (await find([...new Set(batch.map(({ id }) => id))])).map((one) => [idOf(one), one]),
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
