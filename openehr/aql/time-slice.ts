import { setImmediate as others } from 'node:timers/promises'
import { ServiceError } from '../../schemas/errors.ts'

/** Time limit of a query. */
export const AQL_TIMEOUT_MS = 30_000

/** Working time after which a query yields to others. */
const TIME_SLICE_MS = 20

/** Makes a query yield to others, and ends it at its time limit or when the client no longer waits. */
export class TimeSlice {
  readonly #end = performance.now() + AQL_TIMEOUT_MS
  readonly #isAbandoned: () => boolean
  #slice = performance.now() + TIME_SLICE_MS

  constructor(isAbandoned: () => boolean) {
    this.#isAbandoned = isAbandoned
  }

  /** Whether the query should yield now. */
  isOver(): boolean {
    return performance.now() > this.#slice
  }

  /** @throws DeadlineExceeded */
  async yieldToOthers(): Promise<void> {
    await others()
    if (this.#isAbandoned() || performance.now() > this.#end)
      throw new ServiceError('DeadlineExceeded', {
        detail: 'The query took too long. Narrow it by an EHR, an archetype or a template.',
      })
    this.#slice = performance.now() + TIME_SLICE_MS
  }
}
