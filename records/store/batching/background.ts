import { setImmediate } from 'node:timers/promises'

/**
 * Work that goes on after the answer. What must not show whether an address is known is done here: the answer is
 * given before anybody looked, so that neither its content nor its time can tell.
 */
export interface Background {
  run(work: () => Promise<void>): void
  /** Waits for what is under way. */
  close(): Promise<void>
}

/** Starts each work after the response has had its turn. @param onFault called with what a work throws */
export function createBackground(onFault: (fault: unknown) => void): Background {
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
