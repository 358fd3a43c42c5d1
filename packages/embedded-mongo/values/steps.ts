/** Long work in steps, so that other work runs in between and time limits hold. */
import { fail } from './errors.ts'

/** A generator yields it where its consumer may let other work run. */
export const PAUSE = Symbol('pause')
export type Step<T> = T | typeof PAUSE

const COMMAND_SLICE_MS = 10

/** Measures a command's current time slice, and its total time. */
export class CommandTimer {
  #deadline: number
  #sliceEnd = performance.now() + COMMAND_SLICE_MS

  /** @param milliseconds the time limit (0: none) */
  constructor(milliseconds = 0) {
    this.#deadline = milliseconds === 0 ? Number.POSITIVE_INFINITY : performance.now() + milliseconds
  }

  /** Whether the time slice is over. @throws 50 when the time limit is over */
  isSliceOver(): boolean {
    const now = performance.now()
    if (now > this.#deadline) fail(50, 'operation exceeded time limit')
    return now > this.#sliceEnd
  }

  /** Begins a time slice. The time before it belonged to other work. */
  startSlice(): void {
    this.#sliceEnd = performance.now() + COMMAND_SLICE_MS
  }

  async pause(): Promise<void> {
    await new Promise(setImmediate)
    this.startSlice()
  }

  /** The remaining milliseconds, at least 1. */
  get remainingMs(): number {
    return Math.max(1, this.#deadline - performance.now())
  }

  /** Continues after time that does not count, such as the time between two batches of a cursor. */
  resume(left: number): void {
    this.#deadline = performance.now() + left
    this.startSlice()
  }
}

/** Passes on every item, and rests where the work pauses. `take` returns true when it has enough. */
export const forEachItem = async <T>(
  steps: Iterable<Step<T>>,
  timer: CommandTimer,
  // biome-ignore lint/suspicious/noConfusingVoidType: most consumers return nothing
  take: (item: T) => boolean | void,
): Promise<void> => {
  for (const step of steps) {
    if (step === PAUSE) await timer.pause()
    else if (take(step as T)) return
  }
}

/** The items, if they need no pause; undefined if they do not fit into one time slice. */
export const collectInOneSlice = <T>(steps: Iterable<Step<T>>): T[] | undefined => {
  const items: T[] = []
  for (const step of steps) {
    if (step === PAUSE) return undefined
    items.push(step as T)
  }
  return items
}

const SORT_RUN_LENGTH = 1024

/** Sorts like Array.sort, with pauses; stable. */
export function* sortInSteps<T>(
  rows: T[],
  compare: (a: T, b: T) => number,
  timer: CommandTimer,
): Generator<typeof PAUSE, T[]> {
  let runs: T[][] = []
  for (let at = 0; at < rows.length; at += SORT_RUN_LENGTH) {
    runs.push(rows.slice(at, at + SORT_RUN_LENGTH).sort(compare))
    if (timer.isSliceOver()) yield PAUSE
  }
  while (runs.length > 1) {
    const mergedRuns: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const left = runs[at] as T[]
      const right = runs[at + 1]
      mergedRuns.push(right ? yield* merge(left, right, compare, timer) : left)
    }
    runs = mergedRuns
  }
  return runs[0] ?? []
}

function* merge<T>(
  left: T[],
  right: T[],
  compare: (a: T, b: T) => number,
  timer: CommandTimer,
): Generator<typeof PAUSE, T[]> {
  const merged: T[] = []
  let i = 0
  let j = 0
  while (i < left.length || j < right.length) {
    const first = j >= right.length || (i < left.length && compare(left[i] as T, right[j] as T) <= 0)
    merged.push((first ? left[i++] : right[j++]) as T)
    if ((merged.length & 255) === 0 && timer.isSliceOver()) yield PAUSE
  }
  return merged
}
