import { DAY_MS } from '../../../schemas/time/durations.ts'
import { XML_ZONE } from '../../../schemas/time/iso-time.ts'
import type { FhirCoding } from '../elements.ts'

/** A value of a search, before its parameter interprets it. */
export interface SearchText {
  text: string
  /** `missing`, `not`, `exact`, `contains`, or a resource type. */
  modifier?: string | undefined
}

const PREFIXES = ['eq', 'ne', 'gt', 'lt', 'ge', 'le', 'sa', 'eb', 'ap'] as const
type Prefix = (typeof PREFIXES)[number]

/** The period that a date of a search means: the end is exclusive. */
export interface SearchPeriod {
  prefix: Prefix
  from: Date
  to: Date
}

/** Splits a text at a separator that no backslash precedes. */
export function splitEscaped(text: string, separator: ',' | '|' | '$'): string[] {
  if (!text.includes('\\')) return text.split(separator)
  const parts = ['']
  for (const [one] of text.matchAll(/\\?./gsu))
    if (one === separator) parts.push('')
    else parts[parts.length - 1] += one
  return parts
}

/** A part of a value without its escapes. */
export const unescapeText = (text: string): string => text.replace(/\\([\\,|$])/g, '$1')

function splitPrefix(text: string): { prefix: Prefix; rest: string } {
  const prefix = PREFIXES.find((one) => text.startsWith(one))
  return prefix ? { prefix, rest: text.slice(prefix.length) } : { prefix: 'eq', rest: text }
}

const CLOCK = /([01]\d|2[0-3]):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?/
const DATE_PATTERN = new RegExp(
  `^(\\d{4})(?:-(\\d\\d)(?:-(\\d\\d)(?:T${CLOCK.source}(${XML_ZONE.source})?)?)?)?$`,
)

/** The period of a date or time; without a zone it is in UTC. undefined for other texts. */
export function parsePeriod(text: string): SearchPeriod | undefined {
  const { prefix, rest } = splitPrefix(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  const [, year, month, day, hour, minute, second, fraction, zone = 'Z'] = DATE_PATTERN.exec(rest) ?? []
  if (year === undefined) return undefined
  const clock = `${hour ?? '00'}:${minute ?? '00'}:${second ?? '00'}.${(fraction ?? '').padEnd(3, '0').slice(0, 3)}`
  const from = new Date(`${year}-${month ?? '01'}-${day ?? '01'}T${clock}${zone}`)
  if (Number.isNaN(from.getTime()) || from.getUTCFullYear() < 1 || from.getUTCFullYear() > 9998)
    return undefined
  // The parser of dates accepts the 31st of each month.
  if (day !== undefined && new Date(`${year}-${month}-${day}`).getUTCDate() !== Number(day)) return undefined
  const to = new Date(from)
  if (month === undefined) to.setUTCFullYear(to.getUTCFullYear() + 1)
  else if (day === undefined) to.setUTCMonth(to.getUTCMonth() + 1)
  else if (hour === undefined) to.setUTCDate(to.getUTCDate() + 1)
  else to.setTime(to.getTime() + (second === undefined ? 60_000 : fraction === undefined ? 1000 : 1))
  return { prefix, from, to }
}

type Bounds = { from?: Date; to?: Date }

/** The moments that match a period: all later ones for `gt`, and so on. */
export function rangeOfPeriod({ prefix, from, to }: SearchPeriod): Bounds {
  if (prefix === 'gt' || prefix === 'sa') return { from: to }
  if (prefix === 'lt' || prefix === 'eb') return { to: from }
  if (prefix === 'ge') return { from }
  if (prefix === 'le') return { to }
  if (prefix !== 'ap') return { from, to }
  const tenth = Math.abs(Date.now() - from.getTime()) / 10
  return { from: new Date(from.getTime() - tenth), to: new Date(to.getTime() + tenth) }
}

/**
 * A period for values that are days. A day that lies only in part before a moment matches `lt` and `le`, but not `sa`; one
 * that lies only in part after it matches `gt` and `ge`, but not `eb`.
 */
export function inWholeDays({ prefix, from, to }: SearchPeriod): SearchPeriod {
  const round = (time: Date, isUp: boolean) =>
    new Date((isUp ? Math.ceil : Math.floor)(time.getTime() / DAY_MS) * DAY_MS)
  return {
    prefix,
    from: round(from, prefix === 'lt'),
    to: round(to, ['le', 'sa', 'ap'].includes(prefix)),
  }
}

/** A number with its precision, and the unit if there is one: `ge5.4|http://unitsofmeasure.org|mmol/L`. */
export interface SearchQuantity {
  prefix: Prefix
  value: number
  /** Half of the last digit. */
  tolerance: number
  system: string | undefined
  code: string | undefined
}

/** undefined for a text that is not a quantity. */
export function parseQuantity(text: string): SearchQuantity | undefined {
  const [number = '', system, code] = splitEscaped(text, '|').map(unescapeText)
  const { prefix, rest } = splitPrefix(number)
  if (!/^-?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,2})?$/.test(rest)) return undefined
  const [mantissa = '', exponent = '0'] = rest.toLowerCase().split('e')
  const decimals = (mantissa.split('.')[1] ?? '').length
  return {
    prefix,
    value: Number(rest),
    tolerance: 0.5 * 10 ** (Number(exponent) - decimals),
    system: system || undefined,
    code: code || undefined,
  }
}

/** A token: `code`, `system|code`, `|code`, `system|`. */
export interface SearchToken {
  /** undefined: any; '': none. */
  system: string | undefined
  /** undefined: any. */
  code: string | undefined
}

export function parseToken(text: string): SearchToken {
  const parts = splitEscaped(text, '|').map(unescapeText)
  const [system, code] = parts.length > 1 ? parts : [undefined, parts[0]]
  return { system, code: code === '' ? undefined : code }
}

/** Whether a coding matches a token. An element that is a code has no system in itself, so that any system matches. */
export const matchesCoding = ({ system, code }: SearchToken, coding: Partial<FhirCoding>): boolean =>
  (system === undefined || coding.system === undefined || system === coding.system) &&
  (code === undefined || code === coding.code)

/** Whether a coding matches the text of a token. */
export const matchesToken = (coding: Partial<FhirCoding>, text: string): boolean =>
  matchesCoding(parseToken(text), coding)
