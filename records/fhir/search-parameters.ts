import { convertExactly, isConvertible } from '../../schemas/measurements/units.ts'
import { type FhirCoding, referencedId, userIdOfPractitioner } from './elements.ts'
import {
  parsePeriod,
  parseQuantity,
  parseToken,
  type SearchText,
  type SoughtQuantity,
  type SoughtToken,
  soughtRange,
} from './search-values.ts'

/** Conditions on the fields of records; true: every record fits, false: none does. */
type SearchCondition = boolean | Readonly<Record<string, unknown>>

/** A search parameter of FHIR for the records of a kind. */
export interface FhirSearchParameter {
  type: 'token' | 'date' | 'string' | 'quantity' | 'reference' | 'uri' | 'number'
  description: string
  /** The modifiers that it knows besides `missing`. */
  modifiers: readonly string[]
  /** The field for `:missing`; without it `missing` is decided by {@link isAlwaysThere}. */
  field?: string
  /** undefined for a value that does not have the parameter's type */
  where(value: SearchText): SearchCondition | undefined
}

const fits = ({ system, code }: SoughtToken, coding: Partial<FhirCoding>): boolean =>
  (system === undefined || system === (coding.system ?? '')) && (code === undefined || code === coding.code)

const negated = (modifier: string | undefined, found: boolean): boolean =>
  modifier === 'not' ? !found : found

/** A code that is the same in every resource of the kind. */
export const constantToken = (
  description: string,
  codings: readonly Partial<FhirCoding>[],
): FhirSearchParameter => ({
  type: 'token',
  description,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const token = parseToken(text)
    return negated(
      modifier,
      codings.some((coding) => fits(token, coding)),
    )
  },
})

/**
 * A field with words, each of which is a code of one code system.
 * @param codes the codes by word
 */
export const wordToken = (
  description: string,
  field: string,
  codes: Readonly<Record<string, string>>,
  system?: string,
): FhirSearchParameter => ({
  type: 'token',
  description,
  field,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const token = parseToken(text)
    const words = Object.entries(codes).flatMap(([word, code]) =>
      fits(token, system === undefined ? { code } : { system, code }) ||
      (system === undefined && token.code === code && token.system !== undefined)
        ? [word]
        : [],
    )
    return { [field]: modifier === 'not' ? { notIn: words } : { in: words } }
  },
})

/** A field with the texts `code` and `system|code` of its codings. */
export const codesToken = (description: string, field: string): FhirSearchParameter => ({
  type: 'token',
  description,
  field,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const { system, code } = parseToken(text)
    if (code === undefined) return undefined
    const sought = system ? `${system}|${code}` : code
    return { [field]: modifier === 'not' ? { not: sought } : sought }
  },
})

/** A text that a client finds exactly. */
export const textToken = (description: string, field: string): FhirSearchParameter => ({
  type: 'token',
  description,
  field,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const { code } = parseToken(text)
    return code === undefined ? undefined : { [field]: modifier === 'not' ? { not: code } : code }
  },
})

/** A field with a time, or with a day. */
export const dateParameter = (
  description: string,
  field: string,
  precision: 'time' | 'day' = 'time',
): FhirSearchParameter => {
  const show = (at: Date) => (precision === 'day' ? at.toISOString().slice(0, 10) : at.toISOString())
  return {
    type: 'date',
    description,
    field,
    modifiers: [],
    where: ({ text }) => {
      const period = parsePeriod(text)
      if (!period) return undefined
      const { from, to } = soughtRange(period)
      const range = { ...(from && { from: show(from) }), ...(to && { to: show(to) }) }
      return period.prefix === 'ne'
        ? { allOf: [[{ [field]: { to: show(period.from) } }, { [field]: { from: show(period.to) } }]] }
        : { [field]: range }
    },
  }
}

/** A field with the id of another record. @param types the resource types that it may be */
export const referenceParameter = (
  description: string,
  field: string,
  ...types: [string, ...string[]]
): FhirSearchParameter => ({
  type: 'reference',
  description,
  field,
  modifiers: types,
  where: ({ text, modifier }) => {
    const named = types.map((type) => referencedId(text, type)).find((id) => id !== undefined)
    const isPlain = /^[A-Za-z0-9.-]{1,64}$/.test(text)
    if (modifier !== undefined && !types.includes(modifier)) return false
    return named !== undefined || isPlain ? { [field]: named ?? text } : false
  },
})

/** A field with a user id. */
export const userParameter = (description: string, field: string): FhirSearchParameter => ({
  type: 'reference',
  description,
  field,
  modifiers: ['Practitioner'],
  where: ({ text }) => {
    const id = referencedId(text, 'Practitioner') ?? (/^[\w.-]{1,64}$/.test(text) ? text : undefined)
    return id !== undefined && { [field]: userIdOfPractitioner(id) }
  },
})

/** A stored number in one unit. Values in other units are converted; without a unit, the number counts. */
export const quantityParameter = (description: string, field: string, unit: string): FhirSearchParameter => ({
  type: 'quantity',
  description,
  field,
  modifiers: [],
  where: ({ text }) => {
    const sought = parseQuantity(text)
    if (!sought) return undefined
    const { code = unit } = sought
    if (!isConvertible(code, unit)) return false
    return { [field]: rangeOf(sought, (value) => convertExactly(value, code, unit).toNumber()) }
  },
})

function rangeOf({ prefix, value, tolerance }: SoughtQuantity, convert: (value: number) => number) {
  const exact = convert(value)
  if (prefix === 'gt' || prefix === 'sa') return { after: exact }
  if (prefix === 'lt' || prefix === 'eb') return { to: exact }
  if (prefix === 'ge') return { from: exact }
  if (prefix === 'le') return { upTo: exact }
  const margin = prefix === 'ap' ? Math.abs(value) / 10 : tolerance
  const range = { from: convert(value - margin), to: convert(value + margin) }
  return prefix === 'ne' ? { not: exact } : range
}
