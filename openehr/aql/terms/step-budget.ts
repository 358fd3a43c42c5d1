import { ServiceError } from '../../../schemas/errors.ts'

/** The most steps of functions and LIKE between two chances to yield, about one for each character: 50 ms. */
const MAX_UNBROKEN_STEPS = 10_000_000

/** The longest result of a function: the size of a composition. */
const MAX_RESULT_LENGTH = 4 * 1024 * 1024

/** Counts the steps on texts, because a row is computed without yielding. */
export class StepBudget {
  #left = MAX_UNBROKEN_STEPS

  /** Call it before the work. @throws DeadlineExceeded if the work would delay others */
  consume(steps: number): void {
    this.#left -= steps
    if (this.#left < 0)
      throw tooLong('The functions and patterns of the query take too long on the texts of one row.')
  }

  /** Whether others should get a chance. */
  isLow(): boolean {
    return this.#left < MAX_UNBROKEN_STEPS * 0.8
  }

  /** @yields undefined, where the query may yield */
  *pause(): Generator<undefined> {
    yield undefined
    this.#left = MAX_UNBROKEN_STEPS
  }
}

/** @throws DeadlineExceeded */
export function requireShortResult(length: number): void {
  if (length > MAX_RESULT_LENGTH)
    throw tooLong('The result of a function has more than 4 million characters.')
}

const tooLong = (reason: string): ServiceError =>
  new ServiceError('DeadlineExceeded', {
    detail: `${reason} Apply fewer functions, or apply them to shorter texts.`,
  })
