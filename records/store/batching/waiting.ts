import { setTimeout as sleep } from 'node:timers/promises'
import { PATIENCE_MS, unavailable } from '../documents/outage.ts'

/** What some wait for until another one gives it. */
export interface Signal {
  given: Promise<void>
  give(): void
}

export function signal(): Signal {
  let give = (): void => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

/** Whether something is over as long as a request waits. */
export const inTime = (over: Promise<void>): Promise<boolean> =>
  Promise.race([over.then(() => true), sleep(PATIENCE_MS, false, { ref: false })])

interface Waiting {
  reject(reason: unknown): void
}

/**
 * Those who wait for their turn, in order. Who has waited too long is refused, and leaves: what its client was told will
 * not be done is not done.
 */
export class Queue<W extends Waiting> {
  readonly #waiting = new Map<W, NodeJS.Timeout>()

  get length(): number {
    return this.#waiting.size
  }

  add(one: W): void {
    const refuse = () => {
      this.#waiting.delete(one)
      one.reject(unavailable())
    }
    this.#waiting.set(one, setTimeout(refuse, PATIENCE_MS))
  }

  /** The first ones, whose turn it is. */
  take(most: number, isFree: (one: W) => boolean = () => true): W[] {
    const taken: W[] = []
    for (const [one, timer] of this.#waiting) {
      if (taken.length === most) break
      if (!isFree(one)) continue
      clearTimeout(timer)
      this.#waiting.delete(one)
      taken.push(one)
    }
    return taken
  }
}
