import { Fraction } from '../../../schemas/fraction.ts'
import { convertExactly, isConvertible } from '../../../schemas/measurements/units.ts'
import { type FhirCoding, referencedId, userIdOfPractitioner } from '../elements.ts'
import {
  inWholeDays,
  matchesCoding,
  parsePeriod,
  parseQuantity,
  parseToken,
  rangeOfPeriod,
  type SearchQuantity,
  type SearchText,
  splitEscaped,
  unescapeText,
} from './search-values.ts'

type Conditions = Readonly<Record<string, unknown>>

/** Conditions on the fields of records; true: every record matches, false: none does. */
type SearchCondition = boolean | Conditions

/** A search parameter of FHIR for the records of a kind. */
export interface FhirSearchParameter {
  type: 'token' | 'date' | 'string' | 'quantity' | 'reference' | 'uri' | 'number' | 'composite'
  description: string
  /** The modifiers that it knows in addition to `missing`. */
  modifiers: readonly string[]
  /** The field for `:missing`; without it `missing` is decided by {@link isAlwaysThere}. */
  field?: string
  /** In place of `field`, if several fields are missing together. */
  fields?: readonly string[]
  /** Records with this word in this other field do not show the element. */
  hiddenBy?: readonly [field: string, word: string]
  /** Where a reference stands in the resource, if it is not where the mapping shows the field. */
  path?: string
  /** undefined for a value that does not have the parameter's type */
  where(value: SearchText): SearchCondition | undefined
}

/** The condition that a record meets one of these conditions, none of which every record meets. */
export function anyOfConditions(conditions: readonly (SearchCondition | undefined)[]): SearchCondition {
  const possible = conditions.filter((one) => typeof one === 'object')
  return possible.length > 0 && { allOf: [possible] }
}

/** Conditions on different fields. */
function bothConditions(
  one: SearchCondition | undefined,
  other: SearchCondition | undefined,
): SearchCondition | undefined {
  if (one === undefined || other === undefined) return undefined
  if (typeof one === 'boolean') return one && other
  return typeof other === 'boolean' ? other && one : { ...one, ...other }
}

const applyModifier = (modifier: string | undefined, isMatch: boolean): boolean =>
  modifier === 'not' ? !isMatch : isMatch

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
    return applyModifier(
      modifier,
      codings.some((coding) => matchesCoding(token, coding)),
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
      matchesCoding(token, system === undefined ? { code } : { system, code }) ? [word] : [],
    )
    return { [field]: modifier === 'not' ? { notIn: words } : { in: words } }
  },
})

type CodeConditions = readonly [code: string, conditions: Conditions]

/** One of two codes, which follows from other fields. @param codesNow the codes with their conditions at the moment */
export const alternativeToken = (
  description: string,
  codesNow: () => readonly [CodeConditions, CodeConditions],
): FhirSearchParameter => ({
  type: 'token',
  description,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const isNot = modifier === 'not'
    const { code } = parseToken(text)
    const codes = codesNow()
    if (!codes.some(([one]) => one === code)) return isNot
    return codes.find(([one]) => (one === code) !== isNot)?.[1]
  },
})

/**
 * Codings of which one depends on the word in a field.
 * @param usual the coding for all other words
 */
export const codeByWordToken = (
  description: string,
  field: string,
  {
    constant,
    usual,
    byWord,
  }: {
    constant: readonly FhirCoding[]
    usual: FhirCoding
    byWord: readonly (readonly [word: string, coding: FhirCoding])[]
  },
): FhirSearchParameter => ({
  type: 'token',
  description,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const token = parseToken(text)
    const isNot = modifier === 'not'
    if (constant.some((coding) => matchesCoding(token, coding))) return !isNot
    const isUsual = matchesCoding(token, usual)
    const words = byWord.flatMap(([word, coding]) => (matchesCoding(token, coding) === isUsual ? [] : [word]))
    if (!isUsual && words.length === 0) return isNot
    return { [field]: isUsual === isNot ? { in: words } : { notIn: words } }
  },
})

/** The status of a record that is `first` at the beginning, and amended after a correction. */
export const versionToken = (first: string): FhirSearchParameter =>
  alternativeToken(`Status: ${first}, or amended after a correction`, () => [
    [first, { version: 1 }],
    ['amended', { version: { after: 1 } }],
  ])

/** A field with the texts `code` and `system|code` of its codings. */
export const codesToken = (description: string, field: string): FhirSearchParameter => ({
  type: 'token',
  description,
  field,
  modifiers: ['not'],
  where: ({ text, modifier }) => {
    const { system, code } = parseToken(text)
    const isNot = modifier === 'not'
    // Each coding has a system.
    if (system === '') return code === undefined ? undefined : isNot
    if (code === undefined)
      return { [field]: isNot ? { notStarting: `${system}|` } : { starting: [`${system}|`] } }
    const token = system === undefined ? code : `${system}|${code}`
    return { [field]: isNot ? { not: token } : token }
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
  const format = (time: Date) => (precision === 'day' ? time.toISOString().slice(0, 10) : time.toISOString())
  return {
    type: 'date',
    description,
    field,
    modifiers: [],
    where: ({ text }) => {
      const sentPeriod = parsePeriod(text)
      if (!sentPeriod) return undefined
      const period = precision === 'day' ? inWholeDays(sentPeriod) : sentPeriod
      const { from, to } = rangeOfPeriod(period)
      const range = { ...(from && { from: format(from) }), ...(to && { to: format(to) }) }
      return period.prefix === 'ne'
        ? { allOf: [[{ [field]: { to: format(period.from) } }, { [field]: { from: format(period.to) } }]] }
        : { [field]: range }
    },
  }
}

/** The first of these fields that a record has meets the condition. */
const firstOf = (fields: readonly string[], condition: object): Conditions[] =>
  fields.map((field, i) => ({ ...absenceConditions(fields.slice(0, i)), [field]: condition }))

const absenceConditions = (fields: readonly string[]): Conditions =>
  Object.fromEntries(fields.map((field) => [field, { exists: false }]))

/** One of the fields is there. */
const presenceConditions = (fields: readonly string[]): Conditions[] =>
  fields.map((field) => ({ [field]: { exists: true } }))

/**
 * A period of days. One without a start or an end is open there, as FHIR says. A record without both has no period.
 * @param start the fields with its first day: the first of them that a record has counts
 * @param end likewise its last day
 */
export const periodParameter = (
  description: string,
  start: readonly string[],
  end: readonly string[],
): FhirSearchParameter => {
  const formatDay = (time: Date) => time.toISOString().slice(0, 10)
  const starts = (condition: object) => firstOf(start, condition)
  const ends = (condition: object) => firstOf(end, condition)
  const openStart = presenceConditions(end).map((one) => ({ ...absenceConditions(start), ...one }))
  const openEnd = presenceConditions(start).map((one) => ({ ...absenceConditions(end), ...one }))
  const startsBefore = (time: Date) => [...starts({ to: formatDay(time) }), ...openStart]
  const endsFrom = (time: Date) => [...ends({ from: formatDay(time) }), ...openEnd]
  return {
    type: 'date',
    description,
    fields: [...start, ...end],
    modifiers: [],
    where: ({ text }) => {
      const sentPeriod = parsePeriod(text)
      if (!sentPeriod) return undefined
      const period = inWholeDays(sentPeriod)
      const { prefix, from, to } = period
      const nearRange = rangeOfPeriod(period)
      const groups = {
        eq: [starts({ from: formatDay(from) }), ends({ to: formatDay(to) })],
        ne: [[...startsBefore(from), ...endsFrom(to)]],
        gt: [endsFrom(to)],
        ge: [endsFrom(from)],
        lt: [startsBefore(from)],
        le: [startsBefore(to)],
        sa: [starts({ from: formatDay(to) })],
        eb: [ends({ to: formatDay(from) })],
        ap: [endsFrom(nearRange.from ?? from), startsBefore(nearRange.to ?? to)],
      }[prefix]
      return groups.every((one) => one.length > 0) && { allOf: groups }
    },
  }
}

/** Values that belong together, such as a code and a quantity: `8480-6$gt140`. Each of the pairs has its own codes. */
export const codeValueParameter = (
  description: string,
  pairs: readonly { code: FhirSearchParameter; value: FhirSearchParameter }[],
): FhirSearchParameter => ({
  type: 'composite',
  description,
  modifiers: [],
  where: ({ text }) => {
    const [codeText = '', valueText, ...rest] = splitEscaped(text, '$')
    if (valueText === undefined || rest.length > 0) return undefined
    const conditions = pairs.map(({ code, value }) =>
      bothConditions(code.where({ text: codeText }), value.where({ text: valueText })),
    )
    return conditions.includes(undefined) ? undefined : anyOfConditions(conditions)
  },
})

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
    const targetId = types.map((type) => referencedId(text, type)).find((id) => id !== undefined)
    const isPlain = /^[A-Za-z0-9.-]{1,64}$/.test(text)
    if (modifier !== undefined && !types.includes(modifier)) return false
    return targetId !== undefined || isPlain ? { [field]: targetId ?? text } : false
  },
})

/** The user id in a reference to a Practitioner, or in its identifier; undefined for other texts. */
export function userIdOfSearch({ text, modifier }: SearchText): string | undefined {
  if (modifier === 'identifier') return parseToken(text).code
  const id = referencedId(text, 'Practitioner') ?? (/^[\w.-]{1,64}$/.test(text) ? text : undefined)
  return id === undefined ? undefined : userIdOfPractitioner(id)
}

/** A field with a user id. @param path where the reference stands */
export const userParameter = (description: string, field: string, path: string): FhirSearchParameter => ({
  type: 'reference',
  description,
  field,
  path,
  modifiers: ['Practitioner', 'identifier'],
  where: (value) => {
    const id = userIdOfSearch(value)
    return id !== undefined && { [field]: id }
  },
})

/** A reference that has nothing but an identifier, which is the text of a field. */
export const identifierParameter = (description: string, field: string): FhirSearchParameter => ({
  type: 'reference',
  description,
  field,
  modifiers: ['identifier'],
  where: ({ text, modifier }) => {
    const id = modifier === 'identifier' ? parseToken(text).code : unescapeText(text)
    return id !== undefined && { [field]: id }
  },
})

const UCUM = 'http://unitsofmeasure.org'

/** A number that records store in one unit, and resources show in this one or in others. */
interface SearchableQuantity {
  field: string
  unit: string
  /** Rounds a converted value as the records do. */
  toStored(value: Fraction): number
  /** The other units that resources show, each with its names in the field of the unit. */
  shownUnits?: { field: string; namesByCode: ReadonlyMap<string, readonly string[]> }
}

/** Values in other units are converted. Without a unit, the number counts that the resource shows. */
export const quantityParameter = (
  description: string,
  { field, unit, toStored, shownUnits }: SearchableQuantity,
): FhirSearchParameter => ({
  type: 'quantity',
  description,
  field,
  modifiers: [],
  where: ({ text }) => {
    const quantity = parseQuantity(text)
    if (!quantity) return undefined
    const { code = unit, system = UCUM } = quantity
    if (system !== UCUM || !isConvertible(code, unit)) return false
    const conditionIn = (shownUnit: string) =>
      quantityCondition(field, quantity, (value) => convertExactly(value, shownUnit, unit), toStored)
    if (quantity.code !== undefined || !shownUnits) return conditionIn(code)
    const otherUnits = [...shownUnits.namesByCode]
    return anyOfConditions([
      { [shownUnits.field]: { notIn: otherUnits.flatMap(([, names]) => names) }, ...conditionIn(unit) },
      ...otherUnits.map(([other, names]) => ({ [shownUnits.field]: { in: names }, ...conditionIn(other) })),
    ])
  },
})

function quantityCondition(
  field: string,
  { prefix, value, tolerance }: SearchQuantity,
  convert: (value: Fraction) => Fraction,
  toStored: (value: Fraction) => number,
): Conditions {
  const searchValue = Fraction.of(value)
  const bound = toStored(convert(searchValue))
  if (prefix === 'gt' || prefix === 'sa') return { [field]: { after: bound } }
  if (prefix === 'lt' || prefix === 'eb') return { [field]: { to: bound } }
  if (prefix === 'ge') return { [field]: { from: bound } }
  if (prefix === 'le') return { [field]: { upTo: bound } }
  const margin = prefix === 'ap' ? Math.abs(value) / 10 : tolerance
  const from = toStored(convert(searchValue.minus(margin)))
  const end = convert(searchValue.plus(margin))
  const to = toStored(end)
  // A value before the end may be stored as the same number as the end.
  const isEndIncluded = from === to || end.compareTo(to) !== 0
  if (prefix === 'ne')
    return { allOf: [[{ [field]: { to: from } }, { [field]: isEndIncluded ? { after: to } : { from: to } }]] }
  return { [field]: isEndIncluded ? { from, upTo: to } : { from, to } }
}
