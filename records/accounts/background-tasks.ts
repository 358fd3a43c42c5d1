import { setImmediate } from 'node:timers/promises'
import type { Db } from 'mongodb'

/**
 * Work that continues after the response. It hides whether an address is registered: the response leaves
 * before the lookup, so neither its content nor its timing tells.
 */
export interface BackgroundTasks {
  /** Starts a task after the response, if the database takes writes. @throws the database's error otherwise */
  run(work: () => Promise<void>): Promise<void>
  /** Waits for all running tasks. */
  close(): Promise<void>
}

/** @param onFault called with the error of a task */
export function createBackgroundTasks(db: Db, onFault: (fault: unknown) => void): BackgroundTasks {
  const running = new Set<Promise<void>>()
  return {
    async run(work) {
      await writeProbe(db)
      const promise: Promise<void> = setImmediate()
        .then(work)
        .catch(onFault)
        .finally(() => running.delete(promise))
      running.add(promise)
    },
    close: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

/** Fails when a task could not store its result, such as on a full disk: nobody would learn of it after the response. */
const writeProbe = (db: Db): Promise<unknown> =>
  db
    .collection<{ _id: string }>('auth.write_probe')
    .updateOne({ _id: 'last' }, { $set: { at: new Date() } }, { upsert: true })
