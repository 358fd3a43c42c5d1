import { TimeSlice } from '../../records/limits/time-slice.ts'
import { ServiceError } from '../../schemas/errors.ts'

/** Many subscriptions that are fast enough one by one may still take long together. */
const MAX_MATCH_MS = 500

/** The time that the queries of each account take on the changes of one delivery. */
export class MatchTime {
  readonly #spentMs = new Map<string, number>()
  readonly #slice = new TimeSlice()

  /** Runs a match, and lets others run after it. @throws DeadlineExceeded when the account has used up its time */
  async measure<T>(account: string, match: () => T): Promise<T> {
    this.#requireTimeLeft(account)
    const start = performance.now()
    let result: T
    try {
      result = match()
    } finally {
      this.#spentMs.set(account, this.#spentBy(account) + performance.now() - start)
      if (this.#slice.isOver()) await this.#slice.yieldToOthers()
    }
    this.#requireTimeLeft(account)
    return result
  }

  #spentBy(account: string): number {
    return this.#spentMs.get(account) ?? 0
  }

  #requireTimeLeft(account: string): void {
    if (this.#spentBy(account) > MAX_MATCH_MS) throw new ServiceError('DeadlineExceeded')
  }
}
