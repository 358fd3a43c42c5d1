import type { Span } from '../../../schemas/user-data.ts'

/** A day, week or month of local time. */
interface LocalSpan {
  /** Its first day: `2026-03-01`. */
  day: string
  /** In milliseconds since 1970. */
  start: number
  /** When the next one begins. */
  end: number
}

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** @returns what gives the span that a moment is in; a week begins on Monday */
export function spansOf(timeZone: string, span: Span): (time: number) => LocalSpan {
  const offsetAt = offsetsOf(timeZone)
  /** When a local day begins; where the clocks are changed at midnight, the moment after. */
  const startOf = (day: number): number => {
    const before = day - offsetAt(day)
    return day - offsetAt(before)
  }
  return (time) => {
    const local = time + offsetAt(time)
    const first = firstDay(local - mod(local, DAY_MS), span)
    const day = new Date(first).toISOString().slice(0, 10)
    return { day, start: startOf(first), end: startOf(next(first, span)) }
  }
}

/** Local days are counted as if they were those of UTC. */
function firstDay(day: number, span: Span): number {
  if (span === 'day') return day
  const date = new Date(day)
  if (span === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
  return day - ((date.getUTCDay() + 6) % 7) * DAY_MS
}

function next(first: number, span: Span): number {
  if (span !== 'month') return first + (span === 'day' ? 1 : 7) * DAY_MS
  const date = new Date(first)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

const mod = (value: number, by: number): number => ((value % by) + by) % by

/** How far a zone's clocks are ahead of UTC at a moment, in milliseconds. */
function offsetsOf(timeZone: string): (time: number) => number {
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
    return Date.UTC(year, month - 1, day, hour, minute) - (time - mod(time, MINUTE_MS))
  }
}
