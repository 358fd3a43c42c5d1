import { instantOf, parseDate, parseDateTime, parseDuration, parseTime, secondsOf } from './iso8601.ts'

interface Ordered {
  readonly _type: string
  readonly [attribute: string]: unknown
}

const of = <T>(parse: (text: string) => T | undefined, measure: (parsed: T) => number, value: unknown) => {
  const parsed = typeof value === 'string' ? parse(value) : undefined
  return parsed === undefined ? undefined : measure(parsed)
}

/** By what DV_ORDERED values of one class are compared; undefined: it is none. */
export function magnitudeOf(value: Ordered): number | undefined {
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
      return of(parseDate, instantOf, value.value)
    case 'DV_TIME':
      return of(parseTime, instantOf, value.value)
    case 'DV_DATE_TIME':
      return of(parseDateTime, instantOf, value.value)
    case 'DV_DURATION':
      return of(parseDuration, secondsOf, value.value)
    default:
      return undefined
  }
}
