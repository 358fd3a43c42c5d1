/**
 * Does work while the clock stands still by which the service in this process knows how old what it has cached is; `pass`
 * moves it on. So a test shows how long something may be remembered, however busy the machine is.
 */
export async function standstill(work: (pass: (ms: number) => void) => Promise<void>): Promise<void> {
  const running = performance.now.bind(performance)
  let at = running()
  performance.now = () => at
  try {
    await work((ms) => {
      at += ms
    })
  } finally {
    // It never goes back: what was cached would live on.
    const ahead = Math.max(0, at - running())
    performance.now = () => running() + ahead
  }
}
