import { setImmediate } from 'node:timers/promises'
import { Queue } from './waiting.ts'

/** Collects what arrives in the same moment, or while a write is under way, and writes it together. */
export interface Groups<T> {
  /** Resolves when the group that holds the items is written. @throws Unavailable when its turn does not come; what the write throws */
  add(items: readonly T[]): Promise<void>
  /** Resolves when nothing waits and nothing is being written. */
  idle(): Promise<void>
}

interface Waiting<T> {
  items: readonly T[]
  resolve(): void
  reject(reason: unknown): void
}

interface Apart<T> {
  /** Writes that may be under way at the same time. */
  atOnce: number
  /** What an item touches: no two writes under way have one of these in common. */
  keysOf(item: T): string[]
}

/** One write at a time, unless it is said what keeps them apart, of `most` requests; a request's items stay together. */
export function createGroups<T>(
  most: number,
  write: (items: T[]) => Promise<void>,
  { atOnce, keysOf }: Apart<T> = { atOnce: 1, keysOf: () => [] },
): Groups<T> {
  const waiting = new Queue<Waiting<T>>()
  const touched = new Set<string>()
  const isFree = ({ items }: Waiting<T>) =>
    !items.some((item) => keysOf(item).some((key) => touched.has(key)))
  let running = 0
  let ended: Promise<unknown> = Promise.resolve()

  const run = async (): Promise<void> => {
    // Requests that waited for the same thing come in one turn of the event loop.
    await setImmediate()
    for (;;) {
      const group = waiting.take(most, isFree)
      // Whoever has what the others wait for goes on with them.
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
        if (running === atOnce) return
        running += 1
        ended = Promise.all([ended, run()])
      }),
    idle: async () => {
      await ended
    },
  }
}
