/**
 * Does work while the clock stands still by which the service in this process knows how old what it has cached is; `pass`
 * moves it on. So a test shows how long something may be remembered, however busy the machine is.
 */
export async function standstill(work: (pass: (ms: number) => void) => Promise<void>): Promise<void> {
  let at = performance.now()
  await withClock(
    () => at,
    () =>
      work((ms) => {
        at += ms
      }),
  )
}

/** Does work while that clock hurries: whoever looks at it sees it that much later than before. */
export async function inHurry<T>(ms: number, work: () => Promise<T>): Promise<T> {
  let at = performance.now()
  return withClock(() => {
    at += ms
    return at
  }, work)
}

async function withClock<T>(now: () => number, work: () => Promise<T>): Promise<T> {
  const running = performance.now.bind(performance)
  performance.now = now
  try {
    return await work()
  } finally {
    // It never goes back: what was cached would live on.
    const ahead = Math.max(0, now() - running())
    performance.now = () => running() + ahead
  }
}
