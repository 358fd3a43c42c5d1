import { setImmediate } from 'node:timers/promises'
import { errorKindOf, REQUEST_WAIT_TIMEOUT_MS, unavailableError } from '../store/documents/outage.ts'

/**
 * Work that continues after the response. It hides whether an address is registered: the response leaves
 * before the lookup, so neither its content nor its timing tells.
 */
export interface BackgroundTasks {
  /** @throws Unavailable for a while after a task failed because the database did, such as on a full disk */
  run(work: () => Promise<void>): void
  /** Waits for all running tasks. */
  close(): Promise<void>
}

/** Starts each task after the response is sent. @param onFault called with the error of a task */
export function createBackgroundTasks(onFault: (fault: unknown) => void): BackgroundTasks {
  const running = new Set<Promise<void>>()
  let unavailableUntil = 0
  const onFailure = (fault: unknown): void => {
    if (errorKindOf(fault) === 'outage') unavailableUntil = Date.now() + REQUEST_WAIT_TIMEOUT_MS
    onFault(fault)
  }
  return {
    run(work) {
      if (Date.now() < unavailableUntil) throw unavailableError()
      const promise: Promise<void> = setImmediate()
        .then(work)
        .catch(onFailure)
        .finally(() => running.delete(promise))
      running.add(promise)
    },
    close: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
