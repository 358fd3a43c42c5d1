import { type Interval, isInInterval } from '../opt/constraints.ts'
import {
  durationSeconds,
  instantMsOf,
  type PartialDateTime,
  parseDate,
  parseDateTime,
  parseDuration,
  parseTime,
} from '../rm/iso8601.ts'

type TemporalKind = 'date' | 'time' | 'date-time' | 'duration'

const temporalParsers = { date: parseDate, time: parseTime, 'date-time': parseDateTime }

/** The parts of a pattern, in order. */
const TEMPORAL_PARTS = {
  date: ['year', 'month', 'day'],
  time: ['hour', 'minute', 'second'],
  'date-time': ['year', 'month', 'day', 'hour', 'minute', 'second'],
} as const

/** Whether a value matches an archetype's pattern: `yyyy-mm-??`, `HH:??:XX`, `PYMWDTHMS`. */
export function matchesTemporalPattern(kind: TemporalKind, pattern: string, value: string): boolean {
  if (kind === 'duration') return matchesDurationPattern(pattern, value)
  const moment: PartialDateTime | undefined = temporalParsers[kind](value)
  if (moment === undefined) return false
  const parts = pattern.split(/[-:T]/)
  return TEMPORAL_PARTS[kind].every((part, i) => {
    const how = parts[i]
    // XX forbids a part; a value that has the part is accepted, since it loses nothing.
    return how === undefined || /^[?Xx]/.test(how) || moment[part] !== undefined
  })
}

/**
 * The letters of a pattern are the permitted parts of a duration. A pattern with only parts of a day is not
 * enforced, because existing data contains durations of years under such patterns.
 */
function matchesDurationPattern(pattern: string, value: string): boolean {
  const duration = parseDuration(value)
  if (duration === undefined) return false
  const [days = '', times = ''] = pattern.replace(/\/.*/s, '').replace(/^P/, '').split('T')
  const allowedParts = new Set([...days, ...times.replace('M', 'N')])
  if (days === '') return true
  return (['Y', 'M', 'W', 'D', 'H', 'N', 'S'] as const).every(
    (part) => !duration[part] || allowedParts.has(part),
  )
}

function temporalMagnitude(kind: TemporalKind, text: string): number | undefined {
  if (kind === 'duration') {
    const duration = parseDuration(text)
    return duration && durationSeconds(duration)
  }
  const moment = temporalParsers[kind](text)
  return moment && instantMsOf(moment)
}

/** Whether a value is within a range whose bounds have the form of values. */
export function isInTemporalRange(kind: TemporalKind, range: Interval<string>, value: string): boolean {
  const moment = temporalMagnitude(kind, value)
  if (moment === undefined) return false
  const bound = (text: string | undefined) => (text === undefined ? undefined : temporalMagnitude(kind, text))
  const lower = bound(range.lower)
  const upper = bound(range.upper)
  const { lowerIncluded, upperIncluded } = range
  return isInInterval(
    {
      ...(lower !== undefined && { lower }),
      ...(upper !== undefined && { upper }),
      lowerIncluded,
      upperIncluded,
    },
    moment,
  )
}
