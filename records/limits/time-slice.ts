import { setImmediate as others } from 'node:timers/promises'
import { ServiceError } from '../../schemas/errors.ts'
import type { Admission } from './admission/admission-control.ts'

/** Working time after which long work yields to others. */
const TIME_SLICE_MS = 3
/** A step that takes longer has mostly waited, for the database or for others. */
const MAX_STEP_MS = 10

interface TimeSliceOptions {
  /** The request that does the work; undefined: the service itself. */
  admission?: Pick<Admission, 'pause'> | undefined
  /** Whether the client no longer waits for the response. */
  isAbandoned?(): boolean
  timeoutMs?: number
  /** Advice for the client whose request takes too long. */
  advice?: string
}

/**
 * Makes long work yield to others, and ends it at its time limit or when its client no longer waits.
 *
 *     const slice = new TimeSlice({ admission: caller.admission })
 *     for (const one of many) {
 *       work(one)
 *       if (slice.isOver()) await slice.yieldToOthers()
 *     }
 */
export class TimeSlice {
  readonly #options: TimeSliceOptions
  readonly #endMs: number
  #begunMs = performance.now()
  #yielding: Promise<void> | undefined

  constructor(options: TimeSliceOptions = {}) {
    this.#options = options
    this.#endMs = this.#begunMs + (options.timeoutMs ?? Number.POSITIVE_INFINITY)
  }

  /** Whether the work should yield now. */
  isOver(): boolean {
    return performance.now() > this.#begunMs + TIME_SLICE_MS
  }

  /** Begins a slice. The time before it does not count as work: it belonged to the client, or to others. */
  restart(): void {
    this.#begunMs = performance.now()
  }

  /** Parts of the work that run at the same time yield together. @throws DeadlineExceeded */
  yieldToOthers(): Promise<void> {
    this.#yielding ??= this.#yield().finally(() => {
      this.#yielding = undefined
    })
    return this.#yielding
  }

  async #yield(): Promise<void> {
    const { admission, isAbandoned, advice } = this.#options
    const workMs = Math.min(MAX_STEP_MS, performance.now() - this.#begunMs)
    await (admission ? admission.pause(workMs) : others())
    if (isAbandoned?.() || performance.now() > this.#endMs)
      throw new ServiceError('DeadlineExceeded', advice === undefined ? {} : { detail: advice })
    this.restart()
  }
}

/** Long work as a generator: others may run wherever it yields. */
export type Steps<R> = Generator<undefined, R>

/** Runs steps to their end, and lets others run in between. */
export async function runInTimeSlices<R>(steps: Steps<R>, slice: TimeSlice): Promise<R> {
  for (;;) {
    if (slice.isOver()) await slice.yieldToOthers()
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Runs steps to their end at once: for small objects. */
export function runAtOnce<R>(steps: Steps<R>): R {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * Converts each item, and lets others run in between.
 * @param slice undefined: nobody else may run
 */
export async function mapInSlices<T, R>(
  items: readonly T[],
  convert: (item: T, index: number) => R,
  slice: TimeSlice | undefined,
): Promise<R[]> {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    results.push(convert(item, index))
    if (slice?.isOver()) await slice.yieldToOthers()
  }
  return results
}
