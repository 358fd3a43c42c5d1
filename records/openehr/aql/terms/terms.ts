import type { RmObject } from '../../rm/canonical.ts'
import { magnitudeOf } from '../../rm/ordering.ts'
import type { Operator } from '../language/ast.ts'

export const isObject = (value: unknown): value is RmObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What an operand comes to: a value, and of an attribute the object that has it. */
export interface Term {
  value: unknown
  holder?: RmObject | undefined
  attribute?: string | undefined
}

/** Three-valued, as in SQL: undefined is unknown. */
export type Truth = boolean | undefined

/** By what rows are ordered and MIN and MAX compare; undefined: there is no value. */
export type Key = number | string | boolean | undefined

const TEMPORAL = new Set(['DV_DATE', 'DV_TIME', 'DV_DATE_TIME'])
const ORDERED_BY_MAGNITUDE = new Set(['DV_QUANTITY', 'DV_COUNT', 'DV_ORDINAL', 'DV_SCALE', 'DV_PROPORTION'])

const isMissing = (value: unknown): boolean => value === undefined || value === null

/** A day, a time or both, however it is asked for: as `time` or as `time/value`. */
function temporalOf({ value, holder, attribute }: Term): RmObject | undefined {
  if (isObject(value)) return TEMPORAL.has(value._type) || value._type === 'DV_DURATION' ? value : undefined
  return attribute === 'value' && holder && TEMPORAL.has(holder._type) ? holder : undefined
}

/** The plain value that an object of the model stands for, as far as there is one. */
function plain(value: unknown): unknown {
  if (!isObject(value)) return value
  if (ORDERED_BY_MAGNITUDE.has(value._type)) return magnitudeOf(value)
  return isObject(value.value) || value.value === undefined ? value : value.value
}

/** A moment in the form of another one; undefined: the text is none. */
function momentAs(type: string, text: unknown): number | undefined {
  if (typeof text !== 'string') return undefined
  return magnitudeOf({ _type: type, value: text })
}

/** Both as moments, when one of them is; undefined: none is, or the other is no moment. */
function moments(left: Term, right: Term): [number, number] | undefined {
  const [first, second] = [temporalOf(left), temporalOf(right)]
  const type = wider(first?._type, second?._type)
  if (type === undefined) return undefined
  const from = momentAs(type, first ? first.value : left.value)
  const to = momentAs(type, second ? second.value : right.value)
  return from === undefined || to === undefined ? undefined : [from, to]
}

/** A day and a moment are compared as moments. */
function wider(first: string | undefined, second: string | undefined): string | undefined {
  const types = [first, second]
  return types.includes('DV_DATE_TIME') ? 'DV_DATE_TIME' : (first ?? second)
}

/** `c/uid/value = '8849…'` asks for any version of it. */
function withoutVersion(term: Term, other: unknown): unknown {
  const { value, holder, attribute } = term
  const isUid = attribute === 'value' && holder?._type === 'OBJECT_VERSION_ID' && typeof value === 'string'
  return isUid && typeof other === 'string' && !other.includes('::') ? value.split('::')[0] : value
}

/** DV_ORDERED values compare by magnitude or moment; what is of another type is different, and neither more nor less. */
export function compare(left: Term, operator: Operator, right: Term): Truth {
  if (isMissing(left.value) || isMissing(right.value)) return undefined
  const both = moments(left, right)
  if (both) return holds(both[0], operator, both[1])
  if (operator !== '=' && operator !== '!=') return holds(plain(left.value), operator, plain(right.value))
  const [from, to] = [plain(withoutVersion(left, right.value)), plain(withoutVersion(right, left.value))]
  const same = isObject(from) && isObject(to) ? JSON.stringify(from) === JSON.stringify(to) : from === to
  return same === (operator === '=')
}

/** The same for all that is equal; undefined: it takes the other one to know. */
export function equalityKey(term: Term): string | undefined {
  const temporal = temporalOf(term)
  const { value } = temporal ?? { value: plain(term.value) }
  const moment = momentAs('DV_DATE_TIME', value)
  if (temporal?._type === 'DV_DATE_TIME' && moment !== undefined) return `at ${moment}`
  const isUid = term.attribute === 'value' && term.holder?._type === 'OBJECT_VERSION_ID'
  return temporal || isUid || moment !== undefined ? undefined : `${typeof value} ${JSON.stringify(value)}`
}

function holds(left: unknown, operator: Operator, right: unknown): Truth {
  if (typeof left !== typeof right || typeof left === 'object') return operator === '!='
  const [from, to] = [left as number, right as number]
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

/** By what a term is ordered. */
export function keyOf(term: Term): Key {
  const temporal = temporalOf(term)
  if (temporal) return instantIn(temporal) ?? (temporal.value as string)
  const value = plain(term.value)
  if (isMissing(value)) return undefined
  return typeof value === 'object' ? JSON.stringify(value) : (value as Key)
}

const instantIn = (temporal: RmObject): number | undefined => magnitudeOf(temporal)

const rank = (key: Key): number => ['boolean', 'number', 'string', 'undefined'].indexOf(typeof key)

/** What is missing comes last. */
export function compareKeys(a: Key, b: Key): number {
  if (typeof a !== typeof b) return rank(a) - rank(b)
  if (a === undefined || b === undefined || a === b) return 0
  return a < b ? -1 : 1
}

/** The number that SUM and AVG add up; undefined: it is none. */
export function numberIn({ value }: Term): number | undefined {
  const found = plain(value)
  return typeof found === 'number' && Number.isFinite(found) ? found : undefined
}

/** The text of a term, for LIKE and the functions of texts. */
export function textIn({ value }: Term): string | undefined {
  const found = plain(value)
  return typeof found === 'string' ? found : undefined
}
