/** Work that is done again and again, never twice at once. */
export interface Loop {
  /** Has it done at once; when it is under way, once more afterwards. */
  wake(): void
  /** No more. Resolves when the run under way is over, so that nothing works on a database that closes. */
  end(): Promise<void>
}

/**
 * Does `work` now and every so often.
 * @param work may look at the signal between its steps: whoever ends the loop waits for it
 * @param onFault called with what a run throws; the next run tries again
 */
export function periodically(
  everyMs: number,
  work: (ending: AbortSignal) => Promise<void>,
  onFault: (fault: unknown) => void,
): Loop {
  const ending = new AbortController()
  let running: Promise<void> | undefined
  let again = false

  const run = async (): Promise<void> => {
    do {
      again = false
      try {
        await work(ending.signal)
      } catch (fault) {
        onFault(fault)
      }
    } while (again && !ending.signal.aborted)
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
      if (running) again = true
      else begin()
    },
    async end() {
      ending.abort()
      clearInterval(timer)
      await running
    },
  }
}
