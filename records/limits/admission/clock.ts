/** The clock of the limits; tests have their own. */
export interface LimitClock {
  /** The time in milliseconds, from any beginning. */
  now(): number
  /** Calls back after a time; after none in the next turn of the event loop. */
  wakeAfter(ms: number, work: () => void): void
}

export const SYSTEM_CLOCK: LimitClock = {
  now: () => performance.now(),
  wakeAfter: (ms, work) => void (ms < 1 ? setImmediate(work) : setTimeout(work, ms)),
}
