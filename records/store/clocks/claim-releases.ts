import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'

const RETRY_INTERVAL_MS = 500
/** More claims wait for their own end. */
const MAX_WAITING_CLAIMS = 10_000

/**
 * Releases claims of requests that were not carried out. After an outage of the database it releases those that wait
 * as soon as that is back, since a retry may come to another instance.
 */
export class ClaimReleases<C extends { _id: string }> {
  readonly #write: (claims: readonly C[]) => Promise<unknown>
  readonly #waiting: LRUCache<string, C>
  #isRepeating = false

  /**
   * @param ttl the time after which a claim ends by itself
   * @param write releases these claims, and no later claims with the same ids
   */
  constructor(ttl: number, write: (claims: readonly C[]) => Promise<unknown>) {
    this.#write = write
    this.#waiting = new LRUCache({ max: MAX_WAITING_CLAIMS, ttl })
  }

  /** Releases a claim. It does not fail, and does not wait for the end of an outage. */
  async release(claim: C): Promise<void> {
    this.#waiting.set(claim._id, claim)
    await this.#releaseAll([claim]).catch(() => void this.#repeat())
  }

  /** Releases the former claim with this id, if it waits. @throws MongoError during an outage */
  async finish(id: string): Promise<void> {
    const claim = this.#waiting.get(id)
    if (claim) await this.#releaseAll([claim])
  }

  async #releaseAll(claims: readonly C[]): Promise<void> {
    if (claims.length > 0) await this.#write(claims)
    for (const claim of claims) if (this.#waiting.peek(claim._id) === claim) this.#waiting.delete(claim._id)
  }

  async #repeat(): Promise<void> {
    if (this.#isRepeating) return
    this.#isRepeating = true
    do {
      await sleep(RETRY_INTERVAL_MS, undefined, { ref: false })
      await this.#releaseAll([...this.#waiting.values()]).catch(() => {})
    } while (this.#waiting.size > 0)
    this.#isRepeating = false
  }
}
