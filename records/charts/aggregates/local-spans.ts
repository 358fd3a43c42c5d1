import { DAY_MS } from '../../../schemas/time/durations.ts'
import { createLocalClock, modulo } from '../../../schemas/time/local-clock.ts'
import type { TimeSpan } from '../../../schemas/user-data/user-data.ts'

/** A day, week or month of local time. */
interface LocalSpan {
  /** First day: `2026-03-01`. */
  day: string
  /** In milliseconds since 1970. */
  start: number
  /** Start of the next span, exclusive. */
  end: number
}

/** @returns a function that finds the span of a moment; a week begins on Monday */
export function createSpanLookup(timeZone: string, span: TimeSpan): (time: number) => LocalSpan {
  const { offsetAt, toUtc } = createLocalClock(timeZone)
  return (time) => {
    const local = time + offsetAt(time)
    const first = firstDayOf(local - modulo(local, DAY_MS), span)
    const day = new Date(first).toISOString().slice(0, 10)
    return { day, start: toUtc(first), end: toUtc(startOfNext(first, span)) }
  }
}

/** Local days are represented by UTC midnights. */
function firstDayOf(day: number, span: TimeSpan): number {
  if (span === 'day') return day
  const date = new Date(day)
  if (span === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return day - ((date.getUTCDay() + 6) % 7) * DAY_MS
}

function startOfNext(first: number, span: TimeSpan): number {
  if (span !== 'month') return first + (span === 'day' ? 1 : 7) * DAY_MS
  const date = new Date(first)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
