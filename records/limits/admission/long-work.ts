import type { LimitClock } from './clock.ts'

/** Long work needs no pauses up to this time. */
const UNPAUSED_WORK_MS = 50
/** Length of the pause after longer work, relative to the work, which so gets a quarter of the time. */
const PAUSE_RATIO = 3
const MAX_PAUSE_MS = 1_000

/** The long work of an account: its pauses leave time to others. */
export class LongWork {
  readonly #clock: LimitClock
  /** Work that no pause has balanced yet. */
  #workMs = 0
  #countedUntilMs: number

  constructor(clock: LimitClock) {
    this.#clock = clock
    this.#countedUntilMs = clock.now()
  }

  /**
   * Counts work.
   * @param isShared false: nobody else needs the service
   * @returns how long the account should pause now
   */
  pauseAfter(workMs: number, isShared: boolean): number {
    const nowMs = this.#clock.now()
    const balancedMs = (nowMs - this.#countedUntilMs) / (1 + PAUSE_RATIO)
    const formerMs = Math.max(0, this.#workMs - balancedMs)
    this.#countedUntilMs = nowMs
    this.#workMs = (isShared ? formerMs : Math.min(formerMs, UNPAUSED_WORK_MS)) + workMs
    if (!isShared) return 0
    const excessMs = Math.max(0, this.#workMs - UNPAUSED_WORK_MS)
    return Math.min(MAX_PAUSE_MS, excessMs * (1 + PAUSE_RATIO))
  }
}
