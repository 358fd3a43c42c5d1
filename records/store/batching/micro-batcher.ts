import { setImmediate } from 'node:timers/promises'
import { Queue } from './queue.ts'

/** Collects items that arrive together, or during a write, and writes them in one batch. */
export interface Batcher<T> {
  /**
   * Resolves when the items are written. @throws Unavailable when they wait too long; the error of the write
   */
  add(items: readonly T[]): Promise<void>
  /** Resolves when no item waits and no write runs. */
  waitUntilIdle(): Promise<void>
}

interface PendingItems<T> {
  items: readonly T[]
  resolve(): void
  reject(reason: unknown): void
}

interface ConcurrencyOptions<T> {
  /** Maximum number of concurrent writes. */
  maxConcurrent: number
  /** Conflict keys of an item: concurrent writes never share a key. */
  keysOf(item: T): string[]
}

/**
 * Creates a batcher. By default it runs one write at a time, of at most `most` requests. The items of a
 * request stay together.
 */
export function createBatcher<T>(
  most: number,
  write: (items: T[]) => Promise<void>,
  { maxConcurrent, keysOf }: ConcurrencyOptions<T> = { maxConcurrent: 1, keysOf: () => [] },
): Batcher<T> {
  const waiting = new Queue<PendingItems<T>>()
  const touched = new Set<string>()
  const isFree = ({ items }: PendingItems<T>) =>
    !items.some((item) => keysOf(item).some((key) => touched.has(key)))
  let running = 0
  let ended: Promise<unknown> = Promise.resolve()

  const run = async (): Promise<void> => {
    // Wait one turn of the event loop: requests that waited for the same event arrive together.
    await setImmediate()
    for (;;) {
      const group = waiting.take(most, isFree)
      // All waiting items conflict with running writes, which continue with them.
      if (group.length === 0) break
      const items = group.flatMap(({ items }) => items)
      const keys = new Set(items.flatMap(keysOf))
      for (const key of keys) touched.add(key)
      try {
        await write(items)
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
      for (const key of keys) touched.delete(key)
    }
    running -= 1
  }
  return {
    add: (items) =>
      new Promise((resolve, reject) => {
        waiting.add({ items, resolve, reject })
        if (running === maxConcurrent) return
        running += 1
        ended = Promise.all([ended, run()])
      }),
    waitUntilIdle: async () => {
      await ended
    },
  }
}
