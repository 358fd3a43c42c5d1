import { ServiceError } from '../../schemas/errors.ts'

/** Many subscriptions with patterns that are fast enough one by one may still take long together. */
const MAX_PATTERN_MS = 500

/** The time that the patterns of each account take on the changes of one delivery, for which everybody waits. */
export class PatternTime {
  readonly #spentMs = new Map<string, number>()

  /** Runs a match. @throws DeadlineExceeded when the account has used up its time */
  measure<T>(account: string, match: () => T): T {
    const spentMs = this.#spentMs.get(account) ?? 0
    if (spentMs > MAX_PATTERN_MS) throw new ServiceError('DeadlineExceeded')
    const start = performance.now()
    try {
      return match()
    } finally {
      this.#spentMs.set(account, spentMs + performance.now() - start)
    }
  }
}
