import { code, Refusal } from '../request/parse-request.ts'
import { isSafePattern } from './safe-pattern.ts'

const deepest = 10
const mostNodes = 5_000
const longestText = 10_000

/** A field or a path into an object field: `systolic`, `payload.mood.score`. Internal fields begin with _. */
export function isFieldPath(name: unknown): name is string {
  return typeof name === 'string' && name.length <= 200 && /^[A-Za-z]\w*(\.[^.$\s,\0][^.$,\0]*)*$/.test(name)
}

type Check = (value: unknown, budget: Budget, depth: number) => void

/** How many values a condition may still have: it is the database that pays for them. */
interface Budget {
  left: number
}

const list: Check = (value, budget, depth) => {
  if (!Array.isArray(value)) refuse('$in and the like take a list')
  for (const item of value) plainValue(item, budget, depth + 1)
}

const conditions: Check = (value, budget, depth) => {
  if (!Array.isArray(value) || value.length === 0) refuse('$or, $and and $nor take a list of conditions')
  for (const item of value) condition(item, budget, depth + 1)
}

const subquery: Check = (value, budget, depth) => {
  const { where, className, ...rest } = object(value)
  if (typeof className !== 'string' || !/^_?[A-Za-z]\w*$/.test(className))
    refuse('a subquery names a className')
  if (Object.keys(rest).some((name) => !['order', 'limit', 'skip', 'redirectClassNameForKey'].includes(name)))
    refuse('a subquery has className and where')
  if (where !== undefined) condition(where, budget, depth + 1)
}

const selection: Check = (value, budget, depth) => {
  const { key, query } = object(value)
  if (!isFieldPath(key)) refuse('$select names a key')
  subquery(query, budget, depth)
}

const pattern: Check = (value) => {
  if (typeof value !== 'string' || !isSafePattern(value))
    refuse('$regex must be a pattern of at most 200 characters without repeated groups')
}

/** What may stand beside a field; what is not here (geo and text search, $where) is refused. */
const operators: Record<string, Check> = {
  $eq: plainValue,
  $ne: plainValue,
  $lt: plainValue,
  $lte: plainValue,
  $gt: plainValue,
  $gte: plainValue,
  $in: list,
  $nin: list,
  $all: list,
  $containedBy: list,
  $exists: (value) => {
    if (typeof value !== 'boolean') refuse('$exists takes true or false')
  },
  $regex: pattern,
  $options: (value) => {
    if (typeof value !== 'string' || !/^[imsx]{0,4}$/.test(value))
      refuse('$options takes the letters i, m, s, x')
  },
  $inQuery: subquery,
  $notInQuery: subquery,
  $select: selection,
  $dontSelect: selection,
}

/**
 * A condition in Parse's query language that the database can answer in reasonable time.
 * @throws Refusal 400/102
 */
export function checkWhere(where: unknown): void {
  condition(where, { left: mostNodes }, 0)
}

function condition(value: unknown, budget: Budget, depth: number): void {
  spend(budget, depth)
  for (const [name, constraint] of Object.entries(object(value))) {
    if (name === '$or' || name === '$and' || name === '$nor') conditions(constraint, budget, depth)
    else if (name === '$relatedTo') plainValue(constraint, budget, depth + 1)
    else if (isFieldPath(name)) fieldConstraint(constraint, budget, depth + 1)
    else refuse('where names an unknown operator or field')
  }
}

function fieldConstraint(value: unknown, budget: Budget, depth: number): void {
  const names = value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.keys(value) : []
  if (!names.some((name) => name.startsWith('$'))) {
    plainValue(value, budget, depth)
    return
  }
  spend(budget, depth)
  for (const [name, operand] of Object.entries(value as object)) {
    const check = Object.hasOwn(operators, name) ? operators[name] : undefined
    if (!check) refuse('where names an unknown operator')
    check(operand, budget, depth + 1)
  }
}

/** A value to compare with: whatever JSON holds, without operators inside. */
function plainValue(value: unknown, budget: Budget, depth: number): void {
  spend(budget, depth)
  if (typeof value === 'string' && value.length > longestText) refuse('where compares with too long a text')
  if (value === null || typeof value !== 'object') return
  for (const [name, part] of Object.entries(value)) {
    if (name.startsWith('$')) refuse('where names an operator inside a value')
    plainValue(part, budget, depth + 1)
  }
}

function spend(budget: Budget, depth: number): void {
  if (depth > deepest) refuse('where is nested too deep')
  if (budget.left-- <= 0) refuse('where is too large')
}

function object(value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    return refuse('where must be a JSON object')
  return value as Record<string, unknown>
}

function refuse(message: string): never {
  throw new Refusal(400, code.invalidQuery, message)
}
