import {
  durationSeconds,
  instantMsOf,
  parseDate,
  parseDateTime,
  parseDuration,
  parseTime,
} from '../iso8601.ts'

interface OrderedValue {
  readonly _type: string
  readonly [attribute: string]: unknown
}

const measureParsed = <T>(
  parse: (text: string) => T | undefined,
  measure: (parsed: T) => number,
  value: unknown,
) => {
  const parsed = typeof value === 'string' ? parse(value) : undefined
  return parsed === undefined ? undefined : measure(parsed)
}

/** The magnitude by which DV_ORDERED values of one class are compared; undefined for other classes. */
export function magnitudeOf(value: OrderedValue): number | undefined {
  switch (value._type) {
    case 'DV_QUANTITY':
    case 'DV_COUNT':
      return value.magnitude as number | undefined
    case 'DV_ORDINAL':
    case 'DV_SCALE':
      return value.value as number | undefined
    case 'DV_PROPORTION':
      return Number(value.numerator) / Number(value.denominator)
    case 'DV_DATE':
      return measureParsed(parseDate, instantMsOf, value.value)
    case 'DV_TIME':
      return measureParsed(parseTime, instantMsOf, value.value)
    case 'DV_DATE_TIME':
      return measureParsed(parseDateTime, instantMsOf, value.value)
    case 'DV_DURATION':
      return measureParsed(parseDuration, durationSeconds, value.value)
    default:
      return undefined
  }
}
