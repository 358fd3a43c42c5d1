import { parse } from 'lossless-json'
import { MAX_DECIMAL_LENGTH } from '../../schemas/json/decimals.ts'

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

/** A number with a zero at its end, an exponent, or more digits than a number keeps, where a value begins. */
const MAY_BE_INEXACT = /(?:^|[:,[])\s*-?\d+(?:\.\d*0(?![\w.])|(?:\.\d+)?[eE]|[\d.]{15})|[:,[]\s*-0/

/** Whether JSON has a decimal that a number cannot say, as far as a pattern tells. */
export const mayHaveDecimals = (text: string): boolean => MAY_BE_INEXACT.test(text)

/** Parses JSON of FHIR, in which no name may have several values. @throws SyntaxError */
export function parseFhirJson(text: string): unknown {
  // The parser of the engine is several times as fast, and nearly all resources suit it.
  if (!mayHaveDecimals(text)) return JSON.parse(text)
  return parse(text, undefined, { parseNumber: readNumber, onDuplicateKey: ({ newValue }) => newValue })
}

/** Writes JSON of FHIR, with the digits of decimals. No text of a client looks like the object of a decimal. */
export function formatFhirJson(value: unknown): string {
  const json = JSON.stringify(value)
  return json.includes(DIGITS) ? json.replace(MARKED_DIGITS, '$1') : json
}

/** The number of a decimal; any other value stays. */
export const numberOf = (value: unknown): unknown => (value instanceof Decimal ? value.number : value)
