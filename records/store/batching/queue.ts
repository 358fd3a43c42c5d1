import { setTimeout as sleep } from 'node:timers/promises'
import { REQUEST_WAIT_TIMEOUT_MS, unavailableError } from '../documents/outage.ts'

/** Waits for a promise for at most the time that a request waits. @returns false after the timeout */
export const waitWithTimeout = (over: Promise<void>): Promise<boolean> =>
  Promise.race([over.then(() => true), sleep(REQUEST_WAIT_TIMEOUT_MS, false, { ref: false })])

/** A queue in order of arrival. An entry that waits too long is removed and rejected: its work must not be done. */
export class Queue<W extends { reject(reason: unknown): void }> {
  readonly #waiting = new Map<W, NodeJS.Timeout>()

  get length(): number {
    return this.#waiting.size
  }

  add(one: W): void {
    const refuse = () => {
      this.#waiting.delete(one)
      one.reject(unavailableError())
    }
    this.#waiting.set(one, setTimeout(refuse, REQUEST_WAIT_TIMEOUT_MS))
  }

  /** Removes and returns the first free entries. */
  take(most: number, isFree: (one: W) => boolean = () => true): W[] {
    const entries: W[] = []
    for (const [one, timer] of this.#waiting) {
      if (entries.length === most) break
      if (!isFree(one)) continue
      clearTimeout(timer)
      this.#waiting.delete(one)
      entries.push(one)
    }
    return entries
  }
}
