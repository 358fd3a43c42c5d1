import { setImmediate as others } from 'node:timers/promises'
import { ServiceError } from '../../../schemas/errors.ts'

/** How long a query may take. */
export const QUERY_MS = 30_000

/** How long it works before others have their turn. */
const SLICE_MS = 20

/** Has a query give way to others, and end: in time, or when nobody waits for it any more. */
export class Pace {
  readonly #end = performance.now() + QUERY_MS
  readonly #isAbandoned: () => boolean
  #slice = performance.now() + SLICE_MS

  constructor(isAbandoned: () => boolean) {
    this.#isAbandoned = isAbandoned
  }

  /** Whether it is time to let others work. */
  isDue(): boolean {
    return performance.now() > this.#slice
  }

  /** @throws DeadlineExceeded */
  async giveWay(): Promise<void> {
    await others()
    if (this.#isAbandoned() || performance.now() > this.#end)
      throw new ServiceError('DeadlineExceeded', {
        detail: 'The query took too long: narrow it by an EHR, an archetype or a template.',
      })
    this.#slice = performance.now() + SLICE_MS
  }
}
