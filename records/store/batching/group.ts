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

/** One write at a time, of `most` items or a little more; a request's items stay together. */
export function createGroups<T>(most: number, write: (items: T[]) => Promise<void>): Groups<T> {
  const waiting = new Queue<Waiting<T>>()
  let running: Promise<void> | undefined

  const run = async (): Promise<void> => {
    // Requests that waited for the same thing come in one turn of the event loop.
    await setImmediate()
    while (waiting.length > 0) {
      const group = waiting.take(most)
      try {
        await write(group.flatMap(({ items }) => items))
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    running = undefined
  }
  return {
    add: (items) =>
      new Promise((resolve, reject) => {
        waiting.add({ items, resolve, reject })
        running ??= run()
      }),
    idle: async () => running,
  }
}
