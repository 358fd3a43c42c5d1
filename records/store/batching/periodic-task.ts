/** Work that runs periodically, never twice at once. */
export interface PeriodicTask {
  /** Runs the work now, or once more after the current run. */
  wake(): void
  /** Stops the task. Resolves when the current run has ended, so that the database can be closed. */
  stop(): Promise<void>
}

/**
 * Runs `work` now and at each interval.
 * @param work may check the signal between its steps, because `stop` waits for it
 * @param onFault called with the error of a run; the next run tries again
 */
export function startPeriodicTask(
  everyMs: number,
  work: (ending: AbortSignal) => Promise<void>,
  onFault: (fault: unknown) => void,
): PeriodicTask {
  const ending = new AbortController()
  let running: Promise<void> | undefined
  let isWoken = false

  const run = async (): Promise<void> => {
    do {
      isWoken = false
      try {
        await work(ending.signal)
      } catch (fault) {
        onFault(fault)
      }
    } while (isWoken && !ending.signal.aborted)
    running = undefined
  }
  const begin = (): void => {
    running ??= run()
  }
  const timer = setInterval(begin, everyMs).unref()
  begin()
  return {
    wake() {
      if (ending.signal.aborted) return
      if (running) isWoken = true
      else begin()
    },
    async stop() {
      ending.abort()
      clearInterval(timer)
      await running
    },
  }
}
