import { parse } from 'lossless-json'

/** More digits than any quantity has. */
const MAX_DECIMAL_LENGTH = 64

/** No element of FHIR has this name. */
const DIGITS = 'digitsOfDecimal'
const MARKED_DIGITS = new RegExp(`\\{"${DIGITS}":"([^"]*)"\\}`, 'g')

/** A decimal of FHIR that a number cannot say as it was sent: `71.000`, or twenty digits. */
export class Decimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get number(): number {
    return Number(this.text)
  }

  get isKept(): boolean {
    return this.text.length <= MAX_DECIMAL_LENGTH
  }

  toString(): string {
    return this.text
  }

  /** JSON.stringify writes no digits of its own, so that `formatFhirJson` replaces this object. */
  toJSON(): object {
    return { [DIGITS]: this.text }
  }
}

const readNumber = (text: string): number | Decimal => {
  const number = Number(text)
  return String(number) === text ? number : new Decimal(text)
}

/** Parses JSON of FHIR. @throws SyntaxError, also for an object with two different values of one name */
export const parseFhirJson = (text: string): unknown => parse(text, undefined, readNumber)

/** Writes JSON of FHIR, with the digits of decimals. No text of a client looks like the object of a decimal. */
export function formatFhirJson(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes(DIGITS) ? json.replace(MARKED_DIGITS, '$1') : json
}

/** The number of a decimal; any other value stays. */
export const numberOf = (value: unknown): unknown => (value instanceof Decimal ? value.number : value)
