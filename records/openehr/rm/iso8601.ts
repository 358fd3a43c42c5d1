/** A date, a time or both, possibly partial: everything after the last given part is unknown. */
export interface Moment {
  year?: number
  month?: number
  day?: number
  hour?: number
  minute?: number
  /** With its fraction. */
  second?: number
  /** East of Greenwich, in minutes. */
  offset?: number
}

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?|(\d\d)(?:(\d\d))?)?$/
const TIME =
  /^(\d\d)(?::(\d\d)(?::(\d\d(?:[.,]\d{1,12})?))?|(\d\d)(\d\d(?:[.,]\d{1,12})?)?)?(Z|[+-]\d\d(?::?\d\d)?)?$/

const number = (...texts: (string | undefined)[]): number | undefined => {
  const text = texts.find((one) => one !== undefined)
  return text === undefined ? undefined : Number(text.replace(',', '.'))
}

/** Without the parts that are not given. */
function told(parts: { [Part in keyof Moment]: Moment[Part] | undefined }): Moment {
  for (const part in parts) if (parts[part as keyof Moment] === undefined) delete parts[part as keyof Moment]
  return parts as Moment
}

const daysIn = (year: number, month: number): number =>
  new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()

/** `2026`, `2026-03`, `2026-03-01`, also without hyphens; undefined: it is no date. */
export function parseDate(text: string): Moment | undefined {
  const found = DATE.exec(text)
  if (!found) return undefined
  const [, y, m, d, compactMonth, compactDay] = found
  const year = Number(y)
  const month = number(m, compactMonth)
  const day = number(d, compactDay)
  if (month !== undefined && (month < 1 || month > 12)) return undefined
  if (day !== undefined && (day < 1 || day > daysIn(year, month ?? 1))) return undefined
  return told({ year, month, day })
}

/** `10`, `10:30`, `10:30:47.5`, `10:30:47+01:00`, also without colons; undefined: it is no time. */
export function parseTime(text: string): Moment | undefined {
  const found = TIME.exec(text)
  if (!found) return undefined
  const [, h, m, s, compactMinute, compactSecond, zone] = found
  const hour = Number(h)
  const minute = number(m, compactMinute)
  const second = number(s, compactSecond)
  if (hour > 23 || (minute ?? 0) > 59 || (second ?? 0) >= 60) return undefined
  const offset = zone === undefined ? undefined : offsetOf(zone)
  if (offset !== undefined && Math.abs(offset) > 14 * 60) return undefined
  return told({ hour, minute, second, offset })
}

function offsetOf(zone: string): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0)
  return zone.startsWith('-') ? -minutes : minutes
}

/** A date, perhaps with a time behind a T; a time needs a whole date. undefined: it is neither. */
export function parseDateTime(text: string): Moment | undefined {
  const at = text.indexOf('T')
  if (at < 0) return parseDate(text)
  const date = parseDate(text.slice(0, at))
  const time = parseTime(text.slice(at + 1))
  return date?.day !== undefined && time ? { ...date, ...time } : undefined
}

/** Milliseconds for comparing: what is unknown counts as its beginning, a missing zone as UTC. */
export function instantOf({ year = 1970, month = 1, day = 1, ...time }: Moment): number {
  const { hour = 0, minute = 0, second = 0, offset = 0 } = time
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000
}

const amount = '(\\d{1,9}(?:[.,]\\d{1,9})?)'
const DURATION = new RegExp(
  `^([+-])?P(?=.)(?:${amount}Y)?(?:${amount}M)?(?:${amount}W)?(?:${amount}D)?(?:T(?=\\d)(?:${amount}H)?(?:${amount}M)?(?:${amount}S)?)?$`,
)

/** The parts of a duration by their letters; the minutes are `N`. */
export type Duration = Partial<Record<'Y' | 'M' | 'W' | 'D' | 'H' | 'N' | 'S', number>> & {
  negative: boolean
}

/** `P1Y2M`, `PT24H`, `-P3D`; undefined: it is no duration. */
export function parseDuration(text: string): Duration | undefined {
  const found = DURATION.exec(text)
  if (!found) return undefined
  const [, sign, ...amounts] = found
  const parts = (['Y', 'M', 'W', 'D', 'H', 'N', 'S'] as const).map((part, i) => [part, number(amounts[i])])
  return { ...Object.fromEntries(parts.filter(([, value]) => value !== undefined)), negative: sign === '-' }
}

const DAY_S = 86_400
/** The average year and month of the reference model, in days. */
const YEAR_DAYS = 365.24
const MONTH_DAYS = 30.42

/** Seconds, for comparing. */
export function secondsOf({ Y = 0, M = 0, W = 0, D = 0, H = 0, N = 0, S = 0, negative }: Duration): number {
  const days = Y * YEAR_DAYS + M * MONTH_DAYS + W * 7 + D
  const seconds = days * DAY_S + H * 3600 + N * 60 + S
  return negative ? -seconds : seconds
}
