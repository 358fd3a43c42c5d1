import { lookUp } from '../../../schemas/validation/look-up.ts'
import { parseErrorCode, Refusal } from '../request/parse-request.ts'
import { fieldTypeOf, type IsServedClass } from '../request/served-classes.ts'
import { MAX_PROPERTY_LENGTH } from './match-paths.ts'
import { isFieldPath, type QueryFieldCheck, quoteInput } from './query-fields.ts'
import { isSafePattern } from './safe-pattern.ts'

const MAX_DEPTH = 10
/** Parse refuses deeper subqueries, too, but logs to the console. */
const MAX_SUBQUERY_DEPTH = 2
const MAX_TEXT_LENGTH = 10_000
const MAX_LIST_LENGTH = 1_000

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
  checkField: QueryFieldCheck
  budget: QueryBudget
}

/** Position of a check within a query. */
interface QueryPosition extends QueryRules {
  className: string
  depth: number
  /** Depth of subqueries. */
  subqueries: number
  /** The field whose operators are checked. */
  field?: string
}

/** @param beside the operators of the same field, with their operands; `name` is one of them */
type OperandCheck = (
  operand: unknown,
  place: QueryPosition,
  name: string,
  siblings: Record<string, unknown>,
) => void

const oneLevelDeeper = (place: QueryPosition): QueryPosition => ({ ...place, depth: place.depth + 1 })

const checkList: OperandCheck = (value, place, name) => {
  if (!Array.isArray(value) || value.length > MAX_LIST_LENGTH)
    rejectQuery(`${name} needs a list of at most ${MAX_LIST_LENGTH} values.`)
  for (const item of value) checkPlainValue(item, oneLevelDeeper(place))
}

const checkComparable: OperandCheck = (value, place, name) => {
  const isDate = (value as { __type?: unknown } | null)?.__type === 'Date'
  if (!isDate && !['string', 'number', 'boolean'].includes(typeof value))
    rejectQuery(`${name} needs a string, a number, true, false or a date.`)
  checkPlainValue(value, place)
}

function checkConditions(value: unknown, place: QueryPosition, name: string): void {
  if (!Array.isArray(value) || value.length === 0) rejectQuery(`${name} needs a list of conditions.`)
  consumeBudget(place.budget, 'alternatives', value.length)
  for (const item of value) checkCondition(item, oneLevelDeeper(place))
}

const checkSubquery: OperandCheck = (value, place, operator) => {
  const { where, className, ...page } = requireObject(value, operator)
  if (!place.serves(className)) rejectQuery(`${operator} needs the className of an available class.`)
  for (const [name, part] of Object.entries(page)) {
    const fits =
      name === 'order' ? isOrder(part, className, place) : ['limit', 'skip'].includes(name) && isCount(part)
    if (!fits)
      rejectQuery(`${operator} takes className, where, order, limit and skip; check "${name.slice(0, 40)}".`)
  }
  const subqueries = place.subqueries + 1
  if (subqueries > MAX_SUBQUERY_DEPTH)
    rejectQuery(`Subqueries can be nested at most ${MAX_SUBQUERY_DEPTH} deep.`)
  consumeBudget(place.budget, 'subqueries')
  if (where !== undefined) checkCondition(where, { ...oneLevelDeeper(place), className, subqueries })
}

const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31

function isOrder(value: unknown, className: string, { checkField }: QueryRules): boolean {
  const names = typeof value === 'string' ? value.split(',').map((name) => name.replace(/^-/, '')) : []
  if (names.length === 0 || !names.every(isFieldPath)) return false
  for (const name of names) checkField(className, name, 'sort by')
  return true
}

const checkSelection: OperandCheck = (value, place, operator, siblings) => {
  const { key, query, ...rest } = requireObject(value, operator)
  if (!isFieldPath(key) || Object.keys(rest).length > 0)
    rejectQuery(`${operator} needs key (the name of a field) and query, and nothing else.`)
  checkSubquery(query, place, operator, siblings)
  place.checkField((query as { className: string }).className, key, 'select')
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
    if (typeof value !== 'boolean') rejectQuery('$exists needs true or false.')
  },
  $regex: (value, { budget, className, field = '' }, _, { $options }) => {
    consumeBudget(budget, 'patterns')
    const maxTextLength = fieldTypeOf(className, field) === 'String' ? MAX_PROPERTY_LENGTH : undefined
    if (!isSafePattern(value, $options, maxTextLength))
      rejectQuery(
        '$regex needs a pattern of at most 200 characters, with few repetitions and without look-around and back-references. Use `*` and `+` at its end, once before that, or twice after ^. In objects without a schema, use them at the end or after ^. Elsewhere use bounds such as {0,50}.',
      )
  },
  $options: (_, __, ___, { $regex }) => {
    if ($regex === undefined) rejectQuery('$options can only be used with $regex.')
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
  for (const [name, constraint] of Object.entries(requireObject(value, 'where'))) {
    if (name === '$or' || name === '$and' || name === '$nor') checkConditions(constraint, place, name)
    else if (name.startsWith('$')) rejectOperator(name)
    else if (!isFieldPath(name)) rejectQuery(`${quoteInput(name)} in where is not the name of a field.`)
    else {
      place.checkField(place.className, name, 'search by')
      checkFieldConstraint(name, constraint, oneLevelDeeper(place))
    }
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
    const check = lookUp(OPERATOR_CHECKS, name)
    if (!check) rejectOperator(name)
    if (!isOperatorAllowed(place.className, field, name))
      rejectQuery(`Operator ${name} needs a list, which ${field} is not.`)
    check(operand, { ...oneLevelDeeper(place), field }, name, value as Record<string, unknown>)
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
    rejectQuery(`A string in where can have at most ${MAX_TEXT_LENGTH} characters.`)
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) {
    if (name.startsWith('$')) rejectQuery(`Operator ${name.slice(0, 40)} cannot be inside a value in where.`)
    if (name === '__op') rejectQuery('A value in where cannot contain __op.')
    // Parse Server converts values to texts, which an own toString would end.
    if (name in Object.prototype) rejectQuery(`A value in where cannot contain ${name}.`)
    checkPlainValue(part, oneLevelDeeper(place))
  }
}

function requireDepth({ budget, depth }: QueryPosition): void {
  if (depth > MAX_DEPTH) rejectQuery(`where can be nested at most ${MAX_DEPTH} levels deep.`)
  consumeBudget(budget, 'values')
}

function consumeBudget(budget: QueryBudget, part: keyof QueryBudget, amount = 1): void {
  budget[part] -= amount
  if (budget[part] < 0) rejectQuery(`where has too many ${part}. Split the query.`)
}

function requireObject(value: unknown, name: string): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return rejectQuery(`${name} needs a JSON object.`)
  return value as Record<string, unknown>
}

function rejectOperator(name: string): never {
  rejectQuery(`Operator ${name.slice(0, 40)} is not supported in where.`)
}

function rejectQuery(message: string): never {
  throw new Refusal(400, parseErrorCode.invalidQuery, message)
}
