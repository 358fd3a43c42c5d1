/** Long work in steps, so that other work runs in between and time limits hold. */
import { fail } from './errors.ts'

/** A generator yields it where its consumer may let other work run. */
export const PAUSE = Symbol('pause')
export type Step<T> = T | typeof PAUSE

const COMMAND_SLICE_MS = 10

/** Measures a command's current time slice, and its total time. */
export class Pace {
  #deadline: number
  #until = performance.now() + COMMAND_SLICE_MS

  /** @param milliseconds the time limit (0: none) */
  constructor(milliseconds = 0) {
    this.#deadline = milliseconds === 0 ? Number.POSITIVE_INFINITY : performance.now() + milliseconds
  }

  /** Returns true when the time slice is over. @throws 50 when the time limit is over */
  due(): boolean {
    const now = performance.now()
    if (now > this.#deadline) fail(50, 'operation exceeded time limit')
    return now > this.#until
  }

  /** Begins a time slice. The time before it belonged to other work. */
  begin(): void {
    this.#until = performance.now() + COMMAND_SLICE_MS
  }

  async rest(): Promise<void> {
    await new Promise(setImmediate)
    this.begin()
  }

  /** The remaining milliseconds, at least 1. */
  get left(): number {
    return Math.max(1, this.#deadline - performance.now())
  }

  /** Continues after time that does not count, such as the time between two batches of a cursor. */
  resume(left: number): void {
    this.#deadline = performance.now() + left
    this.begin()
  }
}

/** Passes on every item, and rests where the work pauses. `take` returns true when it has enough. */
export const eachItem = async <T>(
  steps: Iterable<Step<T>>,
  pace: Pace,
  // biome-ignore lint/suspicious/noConfusingVoidType: most consumers return nothing
  take: (item: T) => boolean | void,
): Promise<void> => {
  for (const step of steps) {
    if (step === PAUSE) await pace.rest()
    else if (take(step as T)) return
  }
}

/** The items, if they need no pause; undefined if they do not fit into one time slice. */
export const atOnce = <T>(steps: Iterable<Step<T>>): T[] | undefined => {
  const items: T[] = []
  for (const step of steps) {
    if (step === PAUSE) return undefined
    items.push(step as T)
  }
  return items
}

const RUN = 1024

/** Sorts like Array.sort, with pauses; stable. */
export function* sortInSteps<T>(
  rows: T[],
  compare: (a: T, b: T) => number,
  pace: Pace,
): Generator<typeof PAUSE, T[]> {
  let runs: T[][] = []
  for (let at = 0; at < rows.length; at += RUN) {
    runs.push(rows.slice(at, at + RUN).sort(compare))
    if (pace.due()) yield PAUSE
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at] as T[], runs[at + 1]]
      merged.push(right ? yield* merge(left, right, compare, pace) : left)
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<T>(
  left: T[],
  right: T[],
  compare: (a: T, b: T) => number,
  pace: Pace,
): Generator<typeof PAUSE, T[]> {
  const all: T[] = []
  let [i, j] = [0, 0]
  while (i < left.length || j < right.length) {
    const first = j >= right.length || (i < left.length && compare(left[i] as T, right[j] as T) <= 0)
    all.push((first ? left[i++] : right[j++]) as T)
    if ((all.length & 255) === 0 && pace.due()) yield PAUSE
  }
  return all
}
