import { DAY_MS, MINUTE_MS } from './durations.ts'

/** Converts between UTC and the local time of a zone; local times are milliseconds, too, as if they were UTC. */
export interface LocalClock {
  offsetAt(time: number): number
  /** The first moment with the local time. If a clock change skips that time, the first moment after the change. */
  toUtc(local: number): number
}

export function createLocalClock(timeZone: string): LocalClock {
  const offsetAt = createOffsetLookup(timeZone)
  const toUtc = (local: number): number => {
    const offsets = [offsetAt(local - DAY_MS), offsetAt(local + DAY_MS)]
    const [early, late] = offsets.map((offset) => local - offset).sort((a, b) => a - b) as [number, number]
    const match = [early, late].find((time) => time + offsetAt(time) === local)
    return match ?? firstMinute(early, late, (time) => time + offsetAt(time) > local)
  }
  return { offsetAt, toUtc }
}

/** The first minute after `from`, and up to `to`, from which on a condition holds. */
function firstMinute(from: number, to: number, holds: (time: number) => boolean): number {
  let [before, after] = [from, to]
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS
    if (holds(middle)) after = middle
    else before = middle
  }
  return after
}

/** The remainder that is never negative. */
export const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor

/** Offset of a time zone from UTC at a moment, in milliseconds. */
function createOffsetLookup(timeZone: string): (time: number) => number {
  const parts = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  } as const
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    calendar: 'gregory',
    ...parts,
  })
  return (time) => {
    const partValues = Object.fromEntries(
      format.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
    )
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = partValues
    return Date.UTC(year, month - 1, day, hour, minute) - (time - modulo(time, MINUTE_MS))
  }
}
