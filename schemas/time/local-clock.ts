const MINUTE_MS = 60_000

/** Converts between UTC and the local time of a zone; local times are milliseconds, too, as if they were UTC. */
export interface LocalClock {
  offsetAt(time: number): number
  /** If a clock change skips the local time, the first moment after it. */
  toUtc(local: number): number
}

export function createLocalClock(timeZone: string): LocalClock {
  const offsetAt = createOffsetLookup(timeZone)
  return { offsetAt, toUtc: (local) => local - offsetAt(local - offsetAt(local)) }
}

/** The remainder that is never negative. */
export const modulo = (value: number, by: number): number => ((value % by) + by) % by

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
