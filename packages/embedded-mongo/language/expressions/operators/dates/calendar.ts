/** Time zones, calendar arithmetic and ISO weeks. */
import { fail } from '../../../../values/errors.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Minutes east of Greenwich at a given time. */
export type Zone = (moment: number) => number

const createFixedZone =
  (minutes: number): Zone =>
  () =>
    minutes * MINUTE_MS
export const utc: Zone = createFixedZone(0)

const zonesByName = new Map<string, Zone>()

/** An Olson name or an offset such as +05:30. @throws 40485 */
export const zoneOf = (name: string): Zone => {
  const cachedZone = zonesByName.get(name)
  if (cachedZone) return cachedZone
  const offset = /^([+-])(\d\d):?(\d\d)?$/.exec(name)
  const zone = offset
    ? createFixedZone((offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3] ?? 0)))
    : createOlsonZone(name)
  if (zonesByName.size < 1000) zonesByName.set(name, zone)
  return zone
}

const createOlsonZone = (name: string): Zone => {
  if (['UTC', 'GMT'].includes(name)) return utc
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name))
    return fail(40485, `unrecognized time zone identifier: "${name}"`)
  // Intl accepts any case, MongoDB only the right one.
  if (
    /(^|\/)[a-z]/.test(name) ||
    (name.includes('/') && !name.startsWith('Etc/') && name === name.toUpperCase())
  )
    return fail(40485, `unrecognized time zone identifier: "${name}"`)
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    const { timeZone } = format.resolvedOptions()
    if (timeZone !== name && timeZone.toLowerCase() === name.toLowerCase()) throw new RangeError(name)
  } catch {
    return fail(40485, `unrecognized time zone identifier: "${name}"`)
  }
  return (moment) => {
    const part: Record<string, string> = {}
    for (const { type, value } of format.formatToParts(moment)) part[type] = value
    const year = part.era === 'BC' ? 1 - Number(part.year) : Number(part.year)
    const local = utcMilliseconds(
      year,
      Number(part.month),
      Number(part.day),
      Number(part.hour),
      Number(part.minute),
      Number(part.second),
    )
    return local - Math.floor(moment / 1000) * 1000
  }
}

/** Parts may exceed their range: the 14th month is February of the next year. */
export const utcMilliseconds = (
  year: number,
  month: number,
  day: number,
  hour = 0,
  minute = 0,
  second = 0,
  millisecond = 0,
): number => {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, 1)
  return (
    date.getTime() + (day - 1) * DAY_MS + hour * 3_600_000 + minute * MINUTE_MS + second * 1000 + millisecond
  )
}

/** The local time in a zone, as the UTC fields of a date. */
export const toLocal = (moment: number, zone: Zone): Date => new Date(moment + zone(moment))

/** The time at which the local time in the zone is this. */
export const fromLocal = (local: number, zone: Zone): number => {
  const guess = local - zone(local)
  return local - zone(guess)
}

export const dayOfYear = (date: Date): number =>
  Math.floor((date.getTime() - utcMilliseconds(date.getUTCFullYear(), 1, 1)) / DAY_MS) + 1

export const isoDay = (date: Date): number => ((date.getUTCDay() + 6) % 7) + 1

export const isoWeek = (date: Date): { year: number; week: number } => {
  const thursday = new Date(date.getTime() + (4 - isoDay(date)) * DAY_MS)
  return { year: thursday.getUTCFullYear(), week: Math.floor((dayOfYear(thursday) - 1) / 7) + 1 }
}

/** Weeks begin on Sunday; the days before the first Sunday are week 0. */
export const weekOfYear = (date: Date): number => Math.floor((dayOfYear(date) + 6 - date.getUTCDay()) / 7)

export const isoWeekStart = (year: number, week: number, day: number): number => {
  const fourth = new Date(utcMilliseconds(year, 1, 4))
  return fourth.getTime() - (isoDay(fourth) - 1) * DAY_MS + ((week - 1) * 7 + day - 1) * DAY_MS
}

export const units = [
  'year',
  'quarter',
  'month',
  'week',
  'day',
  'hour',
  'minute',
  'second',
  'millisecond',
] as const
export type Unit = (typeof units)[number]

export const unitMilliseconds: Partial<Record<Unit, number>> = {
  week: 7 * DAY_MS,
  day: DAY_MS,
  hour: 3_600_000,
  minute: MINUTE_MS,
  second: 1000,
  millisecond: 1,
}

const daysInMonth = (year: number, month: number): number =>
  Math.round((utcMilliseconds(year, month + 1, 1) - utcMilliseconds(year, month, 1)) / DAY_MS)

/** Adds units. Months and longer units keep the day of the month if possible; days keep the local time. */
export const addUnits = (moment: number, unit: Unit, amount: number, zone: Zone): number => {
  const step = unitMilliseconds[unit]
  if (step && step < DAY_MS) return moment + amount * step
  const local = toLocal(moment, zone)
  if (step) return fromLocal(local.getTime() + amount * step, zone)
  const months = amount * (unit === 'year' ? 12 : unit === 'quarter' ? 3 : 1)
  const index = local.getUTCFullYear() * 12 + local.getUTCMonth() + months
  const year = Math.floor(index / 12)
  const month = (((index % 12) + 12) % 12) + 1
  const day = Math.min(local.getUTCDate(), daysInMonth(year, month))
  const clock = ((local.getTime() % DAY_MS) + DAY_MS) % DAY_MS
  return fromLocal(utcMilliseconds(year, month, day) + clock, zone)
}

/** The weeks, days or months from a fixed date to a local date. */
export const unitsSince = (local: Date, unit: Unit, firstDay: number): number => {
  const day = Math.floor(local.getTime() / DAY_MS)
  switch (unit) {
    case 'year':
      return local.getUTCFullYear()
    case 'quarter':
      return local.getUTCFullYear() * 4 + Math.floor(local.getUTCMonth() / 3)
    case 'month':
      return local.getUTCFullYear() * 12 + local.getUTCMonth()
    case 'week':
      // 1 January 1970 was a Thursday, the fourth day of an ISO week.
      return Math.floor((day + 4 - firstDay) / 7)
    default:
      return Math.floor(local.getTime() / (unitMilliseconds[unit] as number))
  }
}

export const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
