import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { fieldTypeOf, type IsServedClass } from '../request/served-classes.ts'
import { isSafePattern } from './safe-pattern.ts'

const MAX_DEPTH = 10
/** Parse refuses deeper subqueries, too, but logs to the console. */
const MAX_SUBQUERY_DEPTH = 2
const MAX_TEXT_LENGTH = 10_000
const MAX_LIST_LENGTH = 1_000

/**
 * A field or a path into an object field: `systolic`, `payload.mood.score`. Names of internal fields begin
 * with _.
 */
export function isFieldPath(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 200 && /^[A-Za-z]\w*(\.[^.$\s,\0][^.$,\0]*)*$/.test(name)
}

/** Query budget: the remaining cost that the conditions of one request may cause in the database. */
export type QueryBudget = Record<'values' | 'alternatives' | 'patterns' | 'subqueries', number>

export const createQueryBudget = (): QueryBudget => ({
  values: 5_000,
  alternatives: 100,
  patterns: 10,
  subqueries: 10,
})

/** Rules for the queries of one request. */
export interface QueryRules {
  serves: IsServedClass
  budget: QueryBudget
}

/** Position of a check within a query. */
interface QueryPosition extends QueryRules {
  className: string
  depth: number
  /** Depth of subqueries. */
  subqueries: number
}

type OperandCheck = (operand: unknown, place: QueryPosition, beside: Record<string, unknown>) => void

const oneLevelDeeper = (place: QueryPosition): QueryPosition => ({ ...place, depth: place.depth + 1 })

const checkList: OperandCheck = (value, place) => {
  if (!Array.isArray(value) || value.length > MAX_LIST_LENGTH)
    rejectQuery(`$in and the like take a list of at most ${MAX_LIST_LENGTH} values`)
  for (const item of value) checkPlainValue(item, oneLevelDeeper(place))
}

const checkComparable: OperandCheck = (value, place) => {
  const isDate = (value as { __type?: unknown } | null)?.__type === 'Date'
  if (!isDate && !['string', 'number', 'boolean'].includes(typeof value))
    rejectQuery('$lt and the like take a string, a number, true, false or a date')
  checkPlainValue(value, place)
}

const checkConditions: OperandCheck = (value, place) => {
  if (!Array.isArray(value) || value.length === 0) rejectQuery('$or, $and and $nor take a list of conditions')
  consumeBudget(place.budget, 'alternatives', value.length)
  for (const item of value) checkCondition(item, oneLevelDeeper(place))
}

const checkSubquery: OperandCheck = (value, place) => {
  const { where, className, ...page } = requireObject(value)
  if (!place.serves(className)) rejectQuery('a subquery must name a className')
  for (const [name, part] of Object.entries(page)) {
    const fits = name === 'order' ? isOrder(part) : ['limit', 'skip'].includes(name) && isCount(part)
    if (!fits) rejectQuery('a subquery may only have className, where, order, limit and skip')
  }
  const subqueries = place.subqueries + 1
  if (subqueries > MAX_SUBQUERY_DEPTH) rejectQuery(`subqueries are nested at most ${MAX_SUBQUERY_DEPTH} deep`)
  consumeBudget(place.budget, 'subqueries')
  if (where !== undefined) checkCondition(where, { ...oneLevelDeeper(place), className, subqueries })
}

const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31

const isOrder = (value: unknown): boolean =>
  typeof value === 'string' && value.split(',').every((name) => isFieldPath(name.replace(/^-/, '')))

const checkSelection: OperandCheck = (value, place, beside) => {
  const { key, query, ...rest } = requireObject(value)
  if (!isFieldPath(key) || Object.keys(rest).length > 0) rejectQuery('$select must have key and query')
  checkSubquery(query, place, beside)
}

/** Permitted operators with their checks. Others (geo and text search, $where) are refused. */
const OPERATOR_CHECKS: Record<string, OperandCheck> = {
  $eq: checkPlainValue,
  $ne: checkPlainValue,
  $lt: checkComparable,
  $lte: checkComparable,
  $gt: checkComparable,
  $gte: checkComparable,
  $in: checkList,
  $nin: checkList,
  $all: checkList,
  $containedBy: checkList,
  $exists: (value) => {
    if (typeof value !== 'boolean') rejectQuery('$exists takes true or false')
  },
  $regex: (value, { budget }, { $options }) => {
    consumeBudget(budget, 'patterns')
    if (!isSafePattern(value, $options))
      rejectQuery(
        '$regex must be a pattern of at most 200 characters, without look-around and back-references, and with few repetitions',
      )
  },
  $options: (_, __, { $regex }) => {
    if ($regex === undefined) rejectQuery('$options is only for use with $regex')
  },
  $inQuery: checkSubquery,
  $notInQuery: checkSubquery,
  $select: checkSelection,
  $dontSelect: checkSelection,
}

/** Operators for list properties. */
const LIST_OPERATORS = new Set(['$all', '$containedBy'])

/**
 * Checks that the database can evaluate a condition in reasonable time.
 * @throws Refusal 400/102
 */
export function checkWhere(where: unknown, className: string, rules: QueryRules): void {
  checkCondition(where, { ...rules, className, depth: 0, subqueries: 0 })
}

function checkCondition(value: unknown, place: QueryPosition): void {
  requireDepth(place)
  for (const [name, constraint] of Object.entries(requireObject(value))) {
    if (name === '$or' || name === '$and' || name === '$nor') checkConditions(constraint, place, {})
    else if (isFieldPath(name)) checkFieldConstraint(name, constraint, oneLevelDeeper(place))
    else rejectQuery('where names an unknown operator or field')
  }
}

function checkFieldConstraint(field: string, value: unknown, place: QueryPosition): void {
  const names = value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : []
  if (!names.some((name) => name.startsWith('$'))) {
    checkPlainValue(value, place)
    return
  }
  requireDepth(place)
  for (const [name, operand] of Object.entries(value as object)) {
    const check = Object.hasOwn(OPERATOR_CHECKS, name) ? OPERATOR_CHECKS[name] : undefined
    if (!check) rejectQuery('where names an unknown operator')
    if (!isOperatorAllowed(place.className, field, name)) rejectQuery(`${field} has no operator ${name}`)
    check(operand, oneLevelDeeper(place), value as Record<string, unknown>)
  }
}

/** The types of values inside an object are unknown. */
function isOperatorAllowed(className: string, field: string, operator: string): boolean {
  const type = fieldTypeOf(className, field)
  return !LIST_OPERATORS.has(operator) || type === undefined || type === 'Array'
}

/** A value for a comparison: any JSON without operators. */
function checkPlainValue(value: unknown, place: QueryPosition): void {
  requireDepth(place)
  if (typeof value === 'string' && value.length > MAX_TEXT_LENGTH)
    rejectQuery('where compares with a string that is too long')
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) {
    if (name.startsWith('$')) rejectQuery('where has an operator inside a value')
    if (name === '__op') rejectQuery('where has an operation')
    checkPlainValue(part, oneLevelDeeper(place))
  }
}

function requireDepth({ budget, depth }: QueryPosition): void {
  if (depth > MAX_DEPTH) rejectQuery('where is nested too deep')
  consumeBudget(budget, 'values')
}

function consumeBudget(budget: QueryBudget, of: keyof QueryBudget, amount = 1): void {
  budget[of] -= amount
  if (budget[of] < 0) rejectQuery(`where is too large: it has too many ${of}`)
}

function requireObject(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return rejectQuery('where must be a JSON object')
  return value as Record<string, unknown>
}

function rejectQuery(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidQuery, message)
}
