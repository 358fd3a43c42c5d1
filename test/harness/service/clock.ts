/**
 * Runs work with the clock of the service's caches stopped; `pass` advances it. So a test can measure cache
 * lifetimes on a busy machine.
 */
export async function withFrozenClock(work: (pass: (ms: number) => void) => Promise<void>): Promise<void> {
  let latest = performance.now()
  await withClock(
    () => latest,
    () =>
      work((ms) => {
        latest += ms
      }),
  )
}

/** Runs work with that clock racing: each reading is `ms` later than the one before. */
export async function withClockAhead<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let latest = performance.now()
  return withClock(() => {
    latest += ms
    return latest
  }, work)
}

async function withClock<T>(now: () => number, work: () => Promise<T>): Promise<T> {
  const running = performance.now.bind(performance)
  performance.now = now
  try {
    return await work()
  } finally {
    // The clock never goes back, since cached values would then live longer.
    const ahead = Math.max(0, now() - running())
    performance.now = () => running() + ahead
  }
}
