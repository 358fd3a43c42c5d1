import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'
import { magnitudeOf } from '../../rm/values/magnitude.ts'
import type { Operator } from '../language/ast.ts'

/** The value of an operand; for an attribute also the object that has it. */
export interface Term {
  value: unknown
  parent?: RmObject | undefined
  attribute?: string | undefined
}

/** Three-valued logic, as in SQL: undefined is unknown. */
export type Truth = boolean | undefined

/** The key for ORDER BY, MIN and MAX; undefined: no value. */
export type SortKey = number | string | boolean | undefined

const TEMPORAL_CLASSES = new Set(['DV_DATE', 'DV_TIME', 'DV_DATE_TIME'])
const ORDERED_BY_MAGNITUDE = new Set(['DV_QUANTITY', 'DV_COUNT', 'DV_ORDINAL', 'DV_SCALE', 'DV_PROPORTION'])

const isNullish = (value: unknown): boolean => value === undefined || value === null

/** The object with a date or time, whether the path ends in `time` or `time/value`. */
function temporalObject({ value, parent, attribute }: Term): RmObject | undefined {
  if (isRmObject(value))
    return TEMPORAL_CLASSES.has(value._type) || value._type === 'DV_DURATION' ? value : undefined
  return attribute === 'value' && parent && TEMPORAL_CLASSES.has(parent._type) ? parent : undefined
}

/** The primitive value of an object of the model; the object itself if it has none. */
function plainValue(value: unknown): unknown {
  if (!isRmObject(value)) return value
  if (ORDERED_BY_MAGNITUDE.has(value._type)) return magnitudeOf(value)
  return isRmObject(value.value) || value.value === undefined ? value : value.value
}

/** Parses a text as a moment of this class; undefined if it is invalid. */
function parseInstantMs(type: string, text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined
  return magnitudeOf({ _type: type, value: text })
}

/**
 * Converts both to moments if at least one is a moment; undefined if neither is, or the other one does not
 * parse.
 */
function toInstantsMs(left: Term, right: Term): [number, number] | undefined {
  const first = temporalObject(left)
  const second = temporalObject(right)
  const type = widerTemporalClass(first?._type, second?._type)
  if (type === undefined) return undefined
  const from = parseInstantMs(type, first ? first.value : left.value)
  const to = parseInstantMs(type, second ? second.value : right.value)
  return from === undefined || to === undefined ? undefined : [from, to]
}

/** A date and a date-time are compared as date-times. */
function widerTemporalClass(first: string | undefined, second: string | undefined): string | undefined {
  const types = [first, second]
  return types.includes('DV_DATE_TIME') ? 'DV_DATE_TIME' : (first ?? second)
}

/** `c/uid/value = '8849…'` without a version matches all versions. */
function withoutUidVersion(term: Term, other: unknown): unknown {
  const { value, parent, attribute } = term
  const isUid = attribute === 'value' && parent?._type === 'OBJECT_VERSION_ID' && typeof value === 'string'
  return isUid && typeof other === 'string' && !other.includes('::') ? value.split('::')[0] : value
}

/**
 * Compares DV_ORDERED values by magnitude or moment. Values of different types are unequal, and neither is
 * greater.
 */
export function compareTerms(left: Term, operator: Operator, right: Term): Truth {
  if (isNullish(left.value) || isNullish(right.value)) return undefined
  const instants = toInstantsMs(left, right)
  if (instants) return compareValues(instants[0], operator, instants[1])
  if (operator !== '=' && operator !== '!=')
    return compareValues(plainValue(left.value), operator, plainValue(right.value))
  const from = plainValue(withoutUidVersion(left, right.value))
  const to = plainValue(withoutUidVersion(right, left.value))
  const same = isRmObject(from) && isRmObject(to) ? JSON.stringify(from) === JSON.stringify(to) : from === to
  return same === (operator === '=')
}

/** A key that is the same for all equal terms; undefined if equality depends on the other term. */
export function equalityKey(term: Term): string | undefined {
  const temporal = temporalObject(term)
  const { value } = temporal ?? { value: plainValue(term.value) }
  const moment = parseInstantMs('DV_DATE_TIME', value)
  if (temporal?._type === 'DV_DATE_TIME' && moment !== undefined) return `at ${moment}`
  const isUid = term.attribute === 'value' && term.parent?._type === 'OBJECT_VERSION_ID'
  return temporal || isUid || moment !== undefined ? undefined : `${typeof value} ${JSON.stringify(value)}`
}

function compareValues(left: unknown, operator: Operator, right: unknown): Truth {
  if (typeof left !== typeof right || typeof left === 'object') return operator === '!='
  const from = left as number
  const to = right as number
  switch (operator) {
    case '=':
      return from === to
    case '!=':
      return from !== to
    case '<':
      return from < to
    case '<=':
      return from <= to
    case '>':
      return from > to
    case '>=':
      return from >= to
  }
}

export function sortKeyOf(term: Term): SortKey {
  const temporal = temporalObject(term)
  if (temporal) return instantMsOfTemporal(temporal) ?? (temporal.value as string)
  const value = plainValue(term.value)
  if (isNullish(value)) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : (value as SortKey)
}

const instantMsOfTemporal = (temporal: RmObject): number | undefined => magnitudeOf(temporal)

const sortRank = (key: SortKey): number => ['boolean', 'number', 'string', 'undefined'].indexOf(typeof key)

/** Missing values come last. */
export function compareSortKeys(a: SortKey, b: SortKey): number {
  if (typeof a !== typeof b) return sortRank(a) - sortRank(b)
  if (a === undefined || b === undefined || a === b) return 0
  return a < b ? -1 : 1
}

/** The number for SUM and AVG; undefined if the term is not numeric. */
export function numberOfTerm({ value }: Term): number | undefined {
  const plain = plainValue(value)
  return typeof plain === 'number' && Number.isFinite(plain) ? plain : undefined
}

/** The text of a term, for LIKE and text functions. */
export function textOfTerm({ value }: Term): string | undefined {
  const plain = plainValue(value)
  return typeof plain === 'string' ? plain : undefined
}
