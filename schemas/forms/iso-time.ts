import { Type } from '@sinclair/typebox'
import { createValidator } from '../validation/validators.ts'

const ISO_TIME =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|([+-]\d\d)(?::?(\d\d))?))?$/

const violationsOf = createValidator(Type.String({ format: 'date-time' }))

/** A time in UTC, with the offset that it was sent with; UTC itself has none. */
export interface IsoTime {
  utc: string
  offset?: string
}

/**
 * Reads a day or a time of ISO 8601: with seconds or only minutes, in UTC or with an offset. A day is its
 * midnight in UTC. A time without an offset is none, since it could be anywhere.
 * @returns undefined for other texts, and for times outside the years 1 to 9999
 */
export function parseIsoTime(text: string): IsoTime | undefined {
  const [matched, day, minutes = '00:00', seconds = '00', fraction = '', zone, hours, rest = '00'] =
    ISO_TIME.exec(text) ?? []
  if (matched === undefined) return undefined
  const offset = hours === undefined ? undefined : `${hours}:${rest}`
  const full = `${day}T${minutes}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}${offset ?? 'Z'}`
  if (violationsOf(full).length > 0) return undefined
  const at = new Date(full)
  if (Number.isNaN(at.getTime())) return undefined
  const utc = at.toISOString()
  if (!/^(?!0000)\d{4}-/.test(utc)) return undefined
  return offset === undefined || zone === 'Z' ? { utc } : { utc, offset }
}

/** The local time of a moment at an offset, as text with that offset. */
export function toLocalTime(utc: string, offset: string): string {
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(offset) ?? []
  const shift = (sign === '-' ? -1 : 1) * (60 * Number(hours) + Number(minutes)) * 60_000
  return new Date(Date.parse(utc) + shift).toISOString().replace('Z', offset)
}

/** The offset of the local time of a measurement, which its time in UTC does not tell. */
export const utcOffsetField = Type.Optional(
  Type.String({
    pattern: '^[+-](0\\d|1[0-4]):[0-5]\\d$',
    description:
      'Offset of the local time from UTC, so that the time of day is known; by default that of the timestamp as sent',
    examples: ['+01:00'],
  }),
)

/** The values, with the offset of their timestamp if they do not name one. */
export const withUtcOffset = <T extends object>(values: T): T => {
  const { timestamp, utcOffset } = values as { timestamp?: unknown; utcOffset?: unknown }
  const offset = typeof timestamp === 'string' ? parseIsoTime(timestamp)?.offset : undefined
  return utcOffset !== undefined || offset === undefined ? values : { ...values, utcOffset: offset }
}
