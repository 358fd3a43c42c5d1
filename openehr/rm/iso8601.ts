import { isInCalendar } from '../../schemas/validation/calendar.ts'

/** A date, a time or both. It may be partial: all parts after the last given one are unknown. */
export interface PartialDateTime {
  year?: number | undefined
  month?: number | undefined
  day?: number | undefined
  hour?: number | undefined
  minute?: number | undefined
  /** With its fraction. */
  second?: number | undefined
  /** Offset from UTC in minutes, positive to the east. */
  offset?: number | undefined
}

const DATE_PATTERN = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?|(\d\d)(?:(\d\d))?)?$/
const TIME_PATTERN =
  /^(\d\d)(?::(\d\d)(?::(\d\d(?:[.,]\d{1,12})?))?|(\d\d)(\d\d(?:[.,]\d{1,12})?)?)?(Z|[+-]\d\d(?::?\d\d)?)?$/

const parseDecimal = (...texts: (string | undefined)[]): number | undefined => {
  const text = texts.find((one) => one !== undefined)
  return text === undefined ? undefined : Number(text.replace(',', '.'))
}

const daysInMonth = (year: number, month: number): number =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/** `2026`, `2026-03`, `2026-03-01`, also without hyphens; undefined if it is not a date. */
export function parseDate(text: string): PartialDateTime | undefined {
  const parts = DATE_PATTERN.exec(text)
  if (!parts) return undefined
  const [, y, m, d, compactMonth, compactDay] = parts
  const year = Number(y)
  const month = parseDecimal(m, compactMonth)
  const day = parseDecimal(d, compactDay)
  if (year === 0) return undefined
  if (month !== undefined && (month < 1 || month > 12)) return undefined
  if (day !== undefined && (day < 1 || day > daysInMonth(year, month ?? 1))) return undefined
  return { year, month, day }
}

/** `10`, `10:30`, `10:30:47.5`, `10:30:47+01:00`, also without colons; `24:00` ends a day. Undefined if it is not a time. */
export function parseTime(text: string): PartialDateTime | undefined {
  const parts = TIME_PATTERN.exec(text)
  if (!parts) return undefined
  const [, h, m, s, compactMinute, compactSecond, zone] = parts
  const hour = Number(h)
  const minute = parseDecimal(m, compactMinute)
  const second = parseDecimal(s, compactSecond)
  const isEndOfDay = hour === 24 && !minute && !second
  if ((hour > 23 && !isEndOfDay) || (minute ?? 0) > 59 || (second ?? 0) >= 60) return undefined
  const offset = zone === undefined ? undefined : parseOffset(zone)
  if (offset !== undefined && Math.abs(offset) > 14 * 60) return undefined
  return { hour, minute, second, offset }
}

function parseOffset(zone: string): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0)
  return zone.startsWith('-') ? -minutes : minutes
}

/** A date, or a complete date with a time after a T, in the years 1 to 9999; undefined if it is neither. */
export function parseDateTime(text: string): PartialDateTime | undefined {
  const separator = text.indexOf('T')
  if (separator < 0) return parseDate(text)
  const date = parseDate(text.slice(0, separator))
  const time = parseTime(text.slice(separator + 1))
  if (date?.day === undefined || time === undefined) return undefined
  const { year, month, day } = date
  const { hour, minute, second, offset } = time
  const moment = { year, month, day, hour, minute, second, offset }
  // Elsewhere no offset can lead out of the calendar.
  const isAtEdge = year === 1 || year === 9999
  return isAtEdge && !isInCalendar(instantMsOf(moment)) ? undefined : moment
}

/** Milliseconds for comparison: unknown parts count as their beginning, a missing zone as UTC. */
export function instantMsOf(moment: PartialDateTime): number {
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, offset = 0 } = moment
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000
}

const AMOUNT_PATTERN = '(\\d{1,9}(?:[.,]\\d{1,9})?)'
const DURATION_PATTERN = new RegExp(
  `^([+-])?P(?=.)(?:${AMOUNT_PATTERN}Y)?(?:${AMOUNT_PATTERN}M)?(?:${AMOUNT_PATTERN}W)?(?:${AMOUNT_PATTERN}D)?(?:T(?=\\d)(?:${AMOUNT_PATTERN}H)?(?:${AMOUNT_PATTERN}M)?(?:${AMOUNT_PATTERN}S)?)?$`,
)

/** The parts of a duration by their letters; minutes are `N`. */
export type Duration = Partial<Record<'Y' | 'M' | 'W' | 'D' | 'H' | 'N' | 'S', number>> & {
  negative: boolean
}

/** `P1Y2M`, `PT24H`, `-P3D`; undefined if it is not a duration. */
export function parseDuration(text: string): Duration | undefined {
  const fields = DURATION_PATTERN.exec(text)
  if (!fields) return undefined
  const [, sign, ...amounts] = fields
  const parts = (['Y', 'M', 'W', 'D', 'H', 'N', 'S'] as const).map((part, i) => [
    part,
    parseDecimal(amounts[i]),
  ])
  return { ...Object.fromEntries(parts.filter(([, value]) => value !== undefined)), negative: sign === '-' }
}

/**
 * Whether a text is a duration as the XML schema writes it: with a point, and a fraction only in its last
 * part. Earlier versions of the service stored others.
 */
export const isWellFormedDuration = (text: string): boolean =>
  parseDuration(text) !== undefined && !text.includes(',') && !/\.\d+[A-Z]T?\d/.test(text)

const DAY_S = 86_400
/** Average year and month of the reference model, in days. */
const AVERAGE_YEAR_DAYS = 365.24
const AVERAGE_MONTH_DAYS = 30.42

/** The length in seconds, for comparison. */
export function durationSeconds({
  Y = 0,
  M = 0,
  W = 0,
  D = 0,
  H = 0,
  N = 0,
  S = 0,
  negative,
}: Duration): number {
  const days = Y * AVERAGE_YEAR_DAYS + M * AVERAGE_MONTH_DAYS + W * 7 + D
  const seconds = days * DAY_S + H * 3600 + N * 60 + S
  return negative ? -seconds : seconds
}
