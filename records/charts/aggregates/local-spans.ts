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

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** @returns a function that finds the span of a moment; a week begins on Monday */
export function createSpanLookup(timeZone: string, span: TimeSpan): (time: number) => LocalSpan {
  const offsetAt = createOffsetLookup(timeZone)
  /** Start of a local day; if a clock change skips midnight, the first moment after it. */
  const startOf = (day: number): number => {
    const before = day - offsetAt(day)
    return day - offsetAt(before)
  }
  return (time) => {
    const local = time + offsetAt(time)
    const first = firstDayOf(local - modulo(local, DAY_MS), span)
    const day = new Date(first).toISOString().slice(0, 10)
    return { day, start: startOf(first), end: startOf(startOfNext(first, span)) }
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

const modulo = (value: number, by: number): number => ((value % by) + by) % by

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
    const of = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = of
    return Date.UTC(year, month - 1, day, hour, minute) - (time - modulo(time, MINUTE_MS))
  }
}
