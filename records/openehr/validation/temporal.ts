import { contains, type Interval } from '../opt/constraints.ts'
import {
  instantOf,
  type Moment,
  parseDate,
  parseDateTime,
  parseDuration,
  parseTime,
  secondsOf,
} from '../rm/iso8601.ts'

type Kind = 'date' | 'time' | 'date-time' | 'duration'

const parsers = { date: parseDate, time: parseTime, 'date-time': parseDateTime }

/** The parts that a pattern speaks of, in its order. */
const PARTS = {
  date: ['year', 'month', 'day'],
  time: ['hour', 'minute', 'second'],
  'date-time': ['year', 'month', 'day', 'hour', 'minute', 'second'],
} as const

/** Whether a value is written as an archetype's pattern says: `yyyy-mm-??`, `HH:??:XX`, `PYMWDTHMS`. */
export function fitsPattern(kind: Kind, pattern: string, value: string): boolean {
  if (kind === 'duration') return fitsDuration(pattern, value)
  const moment: Moment | undefined = parsers[kind](value)
  if (moment === undefined) return false
  const said = pattern.split(/[-:T]/)
  return PARTS[kind].every((part, i) => {
    const how = said[i]
    // XX says that nobody needs the part; whoever has it loses nothing by telling it.
    return how === undefined || /^[?Xx]/.test(how) || moment[part] !== undefined
  })
}

/**
 * The letters of a pattern are the parts that a duration may have. One that names parts of a day alone is not enforced:
 * durations of years are kept under it.
 */
function fitsDuration(pattern: string, value: string): boolean {
  const duration = parseDuration(value)
  if (duration === undefined) return false
  const [days = '', times = ''] = pattern.replace(/\/.*$/, '').replace(/^P/, '').split('T')
  const allowed = new Set([...days, ...times.replace('M', 'N')])
  if (days === '') return true
  return (['Y', 'M', 'W', 'D', 'H', 'N', 'S'] as const).every((part) => !duration[part] || allowed.has(part))
}

function measured(kind: Kind, text: string): number | undefined {
  if (kind === 'duration') {
    const duration = parseDuration(text)
    return duration && secondsOf(duration)
  }
  const moment = parsers[kind](text)
  return moment && instantOf(moment)
}

/** Whether a value is in a range whose bounds are written as values are. */
export function inRange(kind: Kind, range: Interval<string>, value: string): boolean {
  const moment = measured(kind, value)
  if (moment === undefined) return false
  const bound = (text: string | undefined) => (text === undefined ? undefined : measured(kind, text))
  const [lower, upper] = [bound(range.lower), bound(range.upper)]
  const { lowerIncluded, upperIncluded } = range
  return contains(
    {
      ...(lower !== undefined && { lower }),
      ...(upper !== undefined && { upper }),
      lowerIncluded,
      upperIncluded,
    },
    moment,
  )
}
