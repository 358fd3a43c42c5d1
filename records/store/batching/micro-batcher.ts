import { setImmediate } from 'node:timers/promises'
import { Queue } from './queue.ts'

interface PendingItem<T, R> {
  item: T
  resolve(result: R | PromiseLike<R>): void
  reject(reason: unknown): void
}

interface ConcurrencyOptions<T> {
  /** Maximum number of concurrent writes. */
  maxConcurrent: number
  /** Conflict keys of an item: concurrent writes never share a key. */
  keysOf(item: T): string[]
}

/**
 * Collects items that arrive together, or during a write, and writes them in one batch. By default it runs one write at
 * a time, of at most `most` items.
 * @param write returns the results of the items, in their order
 */
export function createBatcher<T, R = void>(
  most: number,
  write: (items: T[]) => Promise<readonly (R | PromiseLike<R>)[]>,
  { maxConcurrent, keysOf }: ConcurrencyOptions<T> = { maxConcurrent: 1, keysOf: () => [] },
) {
  const waiting = new Queue<PendingItem<T, R>>()
  const keysInUse = new Set<string>()
  const isFree = ({ item }: PendingItem<T, R>) => !keysOf(item).some((key) => keysInUse.has(key))
  // All waiting items may conflict with running writes, which continue with them.
  const takeBatch = () => waiting.take(most, isFree)
  let running = 0
  let allRuns: Promise<unknown> = Promise.resolve()

  const run = async (): Promise<void> => {
    // Wait one turn of the event loop: requests that waited for the same event arrive together.
    await setImmediate()
    for (let batch = takeBatch(); batch.length > 0; batch = takeBatch()) {
      const items = batch.map(({ item }) => item)
      const keys = new Set(items.flatMap(keysOf))
      for (const key of keys) keysInUse.add(key)
      try {
        const results = await write(items)
        for (const [i, { resolve }] of batch.entries()) resolve(results[i] as R)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      for (const key of keys) keysInUse.delete(key)
    }
    running -= 1
  }
  return {
    /** Resolves with the result of the item. @throws Unavailable when it waits too long; the error of the write */
    add: (item: T): Promise<R> =>
      new Promise((resolve, reject) => {
        waiting.add({ item, resolve, reject })
        if (running === maxConcurrent) return
        running += 1
        allRuns = Promise.all([allRuns, run()])
      }),
    /** Resolves when no item waits and no write runs. */
    waitUntilIdle: async (): Promise<void> => {
      await allRuns
    },
  }
}
