/** Parses and formats dates. */
import { fail } from '../../../../values/errors.ts'
import {
  dayOfYear,
  fromLocal,
  isoDay,
  isoWeek,
  isoWeekStart,
  toLocal,
  utc,
  utcMilliseconds,
  weekOfYear,
  type Zone,
  zoneOf,
} from './calendar.ts'

const failParsing = (text: string): never => fail(241, `Error parsing date string '${text}'`)

const ISO_FORM =
  /^(\d{4})-(\d{1,2})(?:-(\d{1,2}))?(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?|[A-Za-z]+\/[A-Za-z_]+)?$/i

/** Parses a text in a form of ISO 8601. @throws 241 */
export const parseDateText = (text: string, zone?: Zone): Date => {
  const match = ISO_FORM.exec(text.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, ''))
  if (!match) return failParsing(text)
  const [, year, month, day = '1', hour = '0', minute = '0', second = '0', fraction = '', zoneName] = match
  if (zoneName && zone)
    fail(241, `you cannot pass in a date/time string with time zone information and a timezone: '${text}'`)
  const parts: Parts = {
    year: Number(year),
    month: Number(month),
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    millisecond: Number(fraction.padEnd(3, '0').slice(0, 3)),
  }
  return new Date(
    fromLocal(
      localOf(parts, text),
      zoneName ? zoneOf(zoneName.toUpperCase() === 'Z' ? 'UTC' : zoneName) : (zone ?? utc),
    ),
  )
}

interface Parts {
  year?: number
  month?: number
  day?: number
  hour?: number
  minute?: number
  second?: number
  millisecond?: number
  dayOfYear?: number
  isoYear?: number
  isoWeek?: number
  isoDay?: number
}

/** @throws 241 for dates such as 30 February */
const localOf = (parts: Parts, text: string): number => {
  const { hour = 0, minute = 0, second = 0, millisecond = 0 } = parts
  if (hour > 24 || minute > 59 || second > 60) failParsing(text)
  const clock = hour * 3_600_000 + minute * 60_000 + second * 1000 + millisecond
  if (parts.isoYear !== undefined)
    return isoWeekStart(parts.isoYear, parts.isoWeek ?? 1, parts.isoDay ?? 1) + clock
  const { year, month = 1, day = 1 } = parts
  if (year === undefined) return failParsing(text)
  // When MongoDB parses days of a year, it counts from 0; when it formats them, from 1.
  if (parts.dayOfYear !== undefined) return utcMilliseconds(year, 1, parts.dayOfYear + 1) + clock
  const date = new Date(utcMilliseconds(year, month, day))
  if (month < 1 || month > 12 || date.getUTCDate() !== day) failParsing(text)
  return date.getTime() + clock
}

const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

const FIELDS_BY_LETTER: Record<string, [pattern: string, field: keyof Parts]> = {
  Y: ['\\d{4}', 'year'],
  m: ['\\d{1,2}', 'month'],
  d: ['\\d{1,2}', 'day'],
  H: ['\\d{1,2}', 'hour'],
  M: ['\\d{1,2}', 'minute'],
  S: ['\\d{1,2}', 'second'],
  L: ['\\d{1,3}', 'millisecond'],
  j: ['\\d{1,3}', 'dayOfYear'],
  G: ['\\d{4}', 'isoYear'],
  V: ['\\d{1,2}', 'isoWeek'],
  u: ['[1-7]', 'isoDay'],
}

/** Parses a text by a format. @throws 241 */
export const parseFormatted = (text: string, format: string, zone?: Zone): Date => {
  const letters: string[] = []
  const source = format.replace(/%([\s\S])|[\\^$.*+?()[\]{}|]/g, (specifier, letter) => {
    if (letter === undefined) return `\\${specifier}`
    if (letter === '%') return '%'
    letters.push(letter)
    if (letter === 'z') return '(Z|[+-]\\d{2}:?\\d{2})'
    if (letter === 'Z') return '([+-]?\\d+)'
    if (letter === 'b' || letter === 'B')
      return `(${MONTH_NAMES.map((name) => (letter === 'b' ? name.slice(0, 3) : name)).join('|')})`
    return `(${FIELDS_BY_LETTER[letter]?.[0]})`
  })
  const match = new RegExp(`^${source}$`, 'i').exec(text)
  if (!match) return failParsing(text)
  const parts: Parts = {}
  let givenZone: Zone | undefined
  for (const [i, letter] of letters.entries()) {
    const value = match[i + 1] as string
    if (letter === 'z') givenZone = zoneOf(value.toUpperCase() === 'Z' ? 'UTC' : value)
    else if (letter === 'Z') givenZone = () => Number(value) * 60_000
    else if (letter === 'b' || letter === 'B')
      parts.month = MONTH_NAMES.findIndex((name) => name.toLowerCase().startsWith(value.toLowerCase())) + 1
    else if (FIELDS_BY_LETTER[letter])
      parts[FIELDS_BY_LETTER[letter][1]] = letter === 'L' ? Number(value.padEnd(3, '0')) : Number(value)
  }
  if (givenZone && zone)
    fail(241, `you cannot pass in a date/time string with time zone information and a timezone: '${text}'`)
  return new Date(fromLocal(localOf(parts, text), givenZone ?? zone ?? utc))
}

/** @throws 18536 for an unknown letter */
export const checkFormat = (format: string, reading: boolean): string => {
  for (const [, letter] of format.matchAll(/%([\s\S]?)/g)) {
    if (!letter) fail(reading ? 40685 : 18535, "Unmatched '%' at end of format string")
    if (!(reading ? 'YmdHMSLjGVuzZbB%' : 'dGHjLmMSuUVwYzZbB%').includes(letter as string))
      fail(18536, `Invalid format character '%${letter}' in format string`)
  }
  return format
}

const padNumber = (value: number, length: number): string => String(value).padStart(length, '0')

export const formatDate = (moment: Date, format: string, zone: Zone): string => {
  const local = toLocal(moment.getTime(), zone)
  const offset = zone(moment.getTime()) / 60_000
  if (local.getUTCFullYear() < 0 || local.getUTCFullYear() > 9999)
    fail(18537, `$dateToString is only defined on year 0-9999, tried to use year ${local.getUTCFullYear()}`)
  const east = offset < 0 ? '-' : '+'
  const size = Math.abs(offset)
  const write: Record<string, () => string> = {
    d: () => padNumber(local.getUTCDate(), 2),
    G: () => padNumber(isoWeek(local).year, 4),
    H: () => padNumber(local.getUTCHours(), 2),
    j: () => padNumber(dayOfYear(local), 3),
    L: () => padNumber(local.getUTCMilliseconds(), 3),
    m: () => padNumber(local.getUTCMonth() + 1, 2),
    M: () => padNumber(local.getUTCMinutes(), 2),
    S: () => padNumber(local.getUTCSeconds(), 2),
    u: () => String(isoDay(local)),
    U: () => padNumber(weekOfYear(local), 2),
    V: () => padNumber(isoWeek(local).week, 2),
    w: () => String(local.getUTCDay() + 1),
    Y: () => padNumber(local.getUTCFullYear(), 4),
    z: () => `${east}${padNumber(Math.floor(size / 60), 2)}${padNumber(size % 60, 2)}`,
    Z: () => String(offset),
    b: () => (MONTH_NAMES[local.getUTCMonth()] as string).slice(0, 3),
    B: () => MONTH_NAMES[local.getUTCMonth()] as string,
    '%': () => '%',
  }
  return format.replace(/%([\s\S])/g, (_, letter) => (write[letter] as () => string)())
}
