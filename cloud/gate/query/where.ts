import { type Serves, typeOfField } from '../request/classes.ts'
import { code, Refusal } from '../request/parse-request.ts'
import { isPattern } from './pattern.ts'

const deepest = 10
/** Beyond it Parse refuses, too, but says so on the console. */
const deepestSubquery = 2
const longestText = 10_000
const longestList = 1_000

/** A field or a path into an object field: `systolic`, `payload.mood.score`. Internal fields begin with _. */
export function isFieldPath(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 200 && /^[A-Za-z]\w*(\.[^.$\s,\0][^.$,\0]*)*$/.test(name)
}

/** What the conditions of one request may still cost, however many they are: it is the database that pays. */
export type Budget = Record<'values' | 'alternatives' | 'patterns' | 'subqueries', number>

export const newBudget = (): Budget => ({ values: 5_000, alternatives: 100, patterns: 10, subqueries: 10 })

/** By what the queries of one request are judged. */
export interface QueryRules {
  serves: Serves
  budget: Budget
}

/** Where in a query a check stands. */
interface Place extends QueryRules {
  className: string
  depth: number
  /** How many subqueries it stands in. */
  subqueries: number
}

type Check = (operand: unknown, place: Place, beside: Record<string, unknown>) => void

const inside = (place: Place): Place => ({ ...place, depth: place.depth + 1 })

const list: Check = (value, place) => {
  if (!Array.isArray(value) || value.length > longestList)
    refuse(`$in and the like take a list of at most ${longestList} values`)
  for (const item of value) plainValue(item, inside(place))
}

const comparable: Check = (value, place) => {
  const isDate = (value as { __type?: unknown } | null)?.__type === 'Date'
  if (!isDate && !['string', 'number', 'boolean'].includes(typeof value))
    refuse('$lt and the like take a string, a number, true, false or a date')
  plainValue(value, place)
}

const conditions: Check = (value, place) => {
  if (!Array.isArray(value) || value.length === 0) refuse('$or, $and and $nor take a list of conditions')
  spend(place.budget, 'alternatives', value.length)
  for (const item of value) condition(item, inside(place))
}

const subquery: Check = (value, place) => {
  const { where, className, ...page } = object(value)
  if (!place.serves(className)) refuse('a subquery must name a className')
  for (const [name, part] of Object.entries(page)) {
    const fits = name === 'order' ? isOrder(part) : ['limit', 'skip'].includes(name) && isCount(part)
    if (!fits) refuse('a subquery may only have className, where, order, limit and skip')
  }
  const subqueries = place.subqueries + 1
  if (subqueries > deepestSubquery) refuse(`subqueries are nested at most ${deepestSubquery} deep`)
  spend(place.budget, 'subqueries')
  if (where !== undefined) condition(where, { ...inside(place), className, subqueries })
}

const isCount = (value: unknown): boolean =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31

const isOrder = (value: unknown): boolean =>
  typeof value === 'string' && value.split(',').every((name) => isFieldPath(name.replace(/^-/, '')))

const selection: Check = (value, place, beside) => {
  const { key, query, ...rest } = object(value)
  if (!isFieldPath(key) || Object.keys(rest).length > 0) refuse('$select must have key and query')
  subquery(query, place, beside)
}

/** What may stand beside a field; what is not here (geo and text search, $where) is refused. */
const operators: Record<string, Check> = {
  $eq: plainValue,
  $ne: plainValue,
  $lt: comparable,
  $lte: comparable,
  $gt: comparable,
  $gte: comparable,
  $in: list,
  $nin: list,
  $all: list,
  $containedBy: list,
  $exists: (value) => {
    if (typeof value !== 'boolean') refuse('$exists takes true or false')
  },
  $regex: (value, { budget }, { $options }) => {
    spend(budget, 'patterns')
    if (!isPattern(value, $options))
      refuse('$regex must be a pattern of at most 200 characters without look-around and back-references')
  },
  $options: (_, __, { $regex }) => {
    if ($regex === undefined) refuse('$options is only for use with $regex')
  },
  $inQuery: subquery,
  $notInQuery: subquery,
  $select: selection,
  $dontSelect: selection,
}

/** Operators on properties that are lists. */
const ofLists = new Set(['$all', '$containedBy'])

/**
 * A condition in Parse's query language that the database can answer in reasonable time.
 * @throws Refusal 400/102
 */
export function checkWhere(where: unknown, className: string, rules: QueryRules): void {
  condition(where, { ...rules, className, depth: 0, subqueries: 0 })
}

function condition(value: unknown, place: Place): void {
  enter(place)
  for (const [name, constraint] of Object.entries(object(value))) {
    if (name === '$or' || name === '$and' || name === '$nor') conditions(constraint, place, {})
    else if (isFieldPath(name)) fieldConstraint(name, constraint, inside(place))
    else refuse('where names an unknown operator or field')
  }
}

function fieldConstraint(field: string, value: unknown, place: Place): void {
  const names = value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : []
  if (!names.some((name) => name.startsWith('$'))) {
    plainValue(value, place)
    return
  }
  enter(place)
  for (const [name, operand] of Object.entries(value as object)) {
    const check = Object.hasOwn(operators, name) ? operators[name] : undefined
    if (!check) refuse('where names an unknown operator')
    if (!hasOperator(place.className, field, name)) refuse(`${field} has no operator ${name}`)
    check(operand, inside(place), value as Record<string, unknown>)
  }
}

/** The types of what is inside an object are not known. */
function hasOperator(className: string, field: string, operator: string): boolean {
  const type = typeOfField(className, field)
  return !ofLists.has(operator) || type === undefined || type === 'Array'
}

/** A value to compare with: whatever JSON holds, without operators inside. */
function plainValue(value: unknown, place: Place): void {
  enter(place)
  if (typeof value === 'string' && value.length > longestText)
    refuse('where compares with a string that is too long')
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) {
    if (name.startsWith('$')) refuse('where has an operator inside a value')
    if (name === '__op') refuse('where has an operation')
    plainValue(part, inside(place))
  }
}

function enter({ budget, depth }: Place): void {
  if (depth > deepest) refuse('where is nested too deep')
  spend(budget, 'values')
}

function spend(budget: Budget, of: keyof Budget, amount = 1): void {
  budget[of] -= amount
  if (budget[of] < 0) refuse(`where is too large: it has too many ${of}`)
}

function object(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return refuse('where must be a JSON object')
  return value as Record<string, unknown>
}

function refuse(message: string): never {
  throw new Refusal(400, code.invalidQuery, message)
}
