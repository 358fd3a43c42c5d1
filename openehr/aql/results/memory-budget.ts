import { ServiceError } from '../../../schemas/errors.ts'

/** Limit for the rows that one query keeps at once, measured by their JSON text. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024

/** Limits the memory of a query. */
export class MemoryBudget {
  #usedBytes = 0

  /** @throws DeadlineExceeded with advice */
  reserve(bytes: number): void {
    this.#usedBytes += bytes
    if (this.#usedBytes > MAX_MEMORY_BYTES)
      throw new ServiceError('DeadlineExceeded', {
        detail:
          'The query needs more than 64 MB of memory. Narrow it, select fewer columns, or ask for fewer rows with fetch.',
      })
  }

  release(bytes: number): void {
    this.#usedBytes -= bytes
  }
}
