import { ServiceError } from '../../../../schemas/errors.ts'

/** What one query keeps at once, counted as the text that it would be. */
const MOST_BYTES = 64 * 1024 * 1024

/** Bounds what a query keeps. */
export class Budget {
  #spent = 0

  /** @throws DeadlineExceeded with what to do about it */
  spend(bytes: number): void {
    this.#spent += bytes
    if (this.#spent > MOST_BYTES)
      throw new ServiceError('DeadlineExceeded', {
        detail:
          'The query has to keep more than 64 MB at once: narrow it, select less, or ask for fewer rows with fetch.',
      })
  }

  release(bytes: number): void {
    this.#spent -= bytes
  }
}
