import { setImmediate } from 'node:timers/promises'

/**
 * Work that continues after the response. It hides whether an address is registered: the response leaves
 * before the lookup, so neither its content nor its timing tells.
 */
export interface BackgroundTasks {
  run(work: () => Promise<void>): void
  /** Waits for all running tasks. */
  close(): Promise<void>
}

/** Starts each task after the response is sent. @param onFault called with the error of a task */
export function createBackgroundTasks(onFault: (fault: unknown) => void): BackgroundTasks {
  const running = new Set<Promise<void>>()
  return {
    run(work) {
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
