import { Type } from '@sinclair/typebox'
import { isInCalendar } from '../validation/calendar.ts'
import { createValidator } from '../validation/validators.ts'
import { DAY_MS } from './durations.ts'

/** A day of the calendar, of the year, or of a week; with or without hyphens. */
const DAY =
  /(?<year>\d{4})(?:(?<hyphen>-?)(?<month>\d\d)\k<hyphen>(?<day>\d\d)|-?(?<ofYear>\d{3})|-?W(?<week>\d\d)-?(?<ofWeek>[1-7]))/
/** A fraction belongs to the smallest unit that is given. */
const CLOCK = /(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d))?)?(?:[.,](?<fraction>\d{1,9}))?/
const ZONE = /(?:Z|(?<offset>[+-]\d\d)(?::?(?<offsetMinute>\d\d))?)/
const ISO_TIME = new RegExp(`^${DAY.source}(?:T${CLOCK.source}${ZONE.source})?$`)

const violationsOf = createValidator(Type.String({ format: 'date-time' }))

/** A time in UTC, with the offset that it was sent with; UTC itself has none. */
export interface IsoTime {
  utc: string
  offset?: string
}

type Parts = Record<string, string | undefined>

/**
 * Reads a day or a time of ISO 8601: in the extended or the basic format, with seconds or less, in UTC or with an
 * offset. A day counts as its midnight in UTC. A time without an offset is rejected, since it names no moment.
 * @returns undefined for other texts, and for times outside the years 1 to 9999
 */
export function parseIsoTime(text: string): IsoTime | undefined {
  const parts: Parts | undefined = ISO_TIME.exec(text)?.groups
  const day = parts && dayOf(parts)
  const milliseconds = parts && timeOfDay(parts)
  if (!day || milliseconds === undefined) return undefined
  const { offset: hours, offsetMinute = '00' } = parts
  const offset = hours === undefined ? undefined : `${hours}:${offsetMinute}`
  if (violationsOf(`${day}T00:00:00${offset ?? 'Z'}`).length > 0) return undefined
  const at = Date.parse(`${day}T00:00:00${offset ?? 'Z'}`) + milliseconds
  if (!isInCalendar(at)) return undefined
  const utc = new Date(at).toISOString()
  return offset === undefined ? { utc } : { utc, offset }
}

/** The day as YYYY-MM-DD, perhaps an impossible one; undefined if the year has no such day or week. */
function dayOf({ year = '', month, day, ofYear, week, ofWeek }: Parts): string | undefined {
  if (month !== undefined) return `${year}-${month}-${day}`
  const first = Date.parse(`${year}-01-01`)
  if (ofYear !== undefined) return dayIn(year, first + (Number(ofYear) - 1) * DAY_MS)
  // Week 1 is the one with the fourth of January.
  const fourth = first + 3 * DAY_MS
  const monday = fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS
  const start = monday + (Number(week) - 1) * 7 * DAY_MS
  // Its Thursday decides to which year a week belongs.
  if (week === '00' || dayIn(year, start + 3 * DAY_MS) === undefined) return undefined
  return new Date(start + (Number(ofWeek) - 1) * DAY_MS).toISOString().slice(0, 10)
}

const dayIn = (year: string, at: number): string | undefined => {
  const text = Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, 10)
  return text.startsWith(`${year}-`) ? text : undefined
}

/** Milliseconds since midnight, which 24:00 ends; undefined if there is no such time. */
function timeOfDay({ hour = '00', minute, second, fraction = '0' }: Parts): number | undefined {
  const unit = second !== undefined ? 1000 : minute !== undefined ? 60_000 : 3_600_000
  const [h, m, s] = [hour, minute ?? '0', second ?? '0'].map(Number) as [number, number, number]
  const milliseconds =
    ((h * 60 + m) * 60 + s) * 1000 + Math.floor((Number(fraction.padEnd(9, '0')) * unit) / 1e9)
  return m > 59 || s > 59 || milliseconds > DAY_MS ? undefined : milliseconds
}

/** The local time of a moment at an offset, as text with that offset. */
export function toLocalTime(utc: string, offset: string): string {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(offset) ?? []
  const shift = (sign === '-' ? -1 : 1) * (60 * Number(hours) + Number(minutes)) * 60_000
  return new Date(Date.parse(utc) + shift).toISOString().replace('Z', offset)
}

/** The zone of a time in FHIR, which allows offsets up to 14 hours, as XML Schema. */
export const XML_ZONE = /(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)/

/**
 * The local time of a moment for FHIR and openEHR, which allow offsets up to 14 hours, as XML Schema.
 * @returns undefined without such an offset
 */
export const toXmlLocalTime = (utc: string, offset: unknown): string | undefined =>
  typeof offset === 'string' && offset.slice(1) <= '14:00' ? toLocalTime(utc, offset) : undefined

/** The offset of the local time of a measurement, which its time in UTC does not tell. */
export const utcOffsetField = Type.Optional(
  Type.String({
    // As in a timestamp (RFC 3339).
    pattern: '^[+-]([01]\\d|2[0-3]):[0-5]\\d$',
    description:
      'Offset of the local time from UTC, so that the time of day is known; by default that of the timestamp as sent',
    examples: ['+01:00'],
  }),
)

const DAY_LENGTH = 'YYYY-MM-DD'.length

/**
 * The values, with the offset of their timestamp if they do not name one. RFC 3339 also has a space, or any number of
 * decimals.
 */
export const withUtcOffset = <T extends object>(values: T): T => {
  const { timestamp, utcOffset } = values as { timestamp?: unknown; utcOffset?: unknown }
  if (typeof timestamp !== 'string' || utcOffset !== undefined) return values
  const [, hours, minutes = '00'] = /([+-]\d\d)(?::?(\d\d))?$/.exec(timestamp.slice(DAY_LENGTH)) ?? []
  return hours === undefined ? values : { ...values, utcOffset: `${hours}:${minutes}` }
}
