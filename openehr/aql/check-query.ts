import { findRmClass } from '../../schemas/openehr/rm-classes.ts'
import { TextSyntaxError } from '../formats/text-syntax-error.ts'
import {
  type ClassNode,
  type Column,
  type Condition,
  type Constant,
  type Containment,
  contentKey,
  type Literal,
  type Operand,
  type OrderBy,
  type Parameter,
  type Path,
  type QueryTree,
} from './language/ast.ts'
import { tokenize } from './language/tokenizer.ts'

export type QueryParameters = Readonly<Record<string, unknown>>

/** Maximum rows of one page, for LIMIT and for the request. */
export const MAX_ROWS = 10_000

const MAX_CLASSES = 100
const MAX_PATH_STEPS = 100
const MAX_STEPS_IN_ALL = 2_000
const MAX_PATTERN_LENGTH = 1_000
/** Maximum number of patterns in a query, and of their characters together. */
const MAX_PATTERNS = 100
const MAX_PATTERN_CHARACTERS = 20_000
/** Maximum number of values of all MATCHES in a query together. */
const MAX_MATCHES_VALUES = 10_000

/** Classes that a query may name in addition to those of compositions and EHR_STATUS. */
const CONTAINER_CLASSES = new Set(['EHR', 'VERSION', 'ORIGINAL_VERSION'])

/**
 * Binds the parameters and checks the query's classes, variables and paths.
 * @throws TextSyntaxError
 */
export function checkQuery(query: QueryTree, parameters: QueryParameters): QueryTree {
  const variables = collectVariables(query.from)
  const counts = { matchesValues: 0, patterns: 0, patternCharacters: 0 }
  const bound = bindParameters(query, { parameters, variables, ...counts })
  let parts = 0
  for (const path of pathsOfQuery(bound)) {
    if (!variables.has(path.variable.toLowerCase()))
      throw new TextSyntaxError(
        path.position,
        `${quoteShortened(path.variable)} is not a variable of FROM, which has ${listVariables(variables)}`,
      )
    parts += Math.max(path.parts.length, 1)
    if (path.parts.length > MAX_PATH_STEPS || parts > MAX_STEPS_IN_ALL)
      throw new TextSyntaxError(
        path.position,
        `a path can have at most ${MAX_PATH_STEPS} steps, all paths together ${MAX_STEPS_IN_ALL}`,
      )
  }
  if ((bound.limit ?? 0) > MAX_ROWS)
    throw new TextSyntaxError(0, `LIMIT can be at most ${MAX_ROWS}: use OFFSET for the next page`)
  return { ...bound, orderBy: bound.orderBy.map((order) => checkOrder(order, bound, variables)) }
}

const quoteShortened = (text: string): string => JSON.stringify(text.slice(0, 60))

const listVariables = (variables: Variables): string =>
  variables.size === 0 ? 'none' : [...variables.values()].slice(0, 20).join(', ')

/** The variables of FROM by their names in lower case, since AQL does not distinguish the cases. */
type Variables = ReadonlyMap<string, string>

/** Checks that each class exists and each variable is unique. */
function collectVariables(from: ClassNode): Variables {
  const variables = new Map<string, string>()
  let classes = 0
  const visit = (containment: Containment, isFirst: boolean): void => {
    if (containment.kind !== 'class') {
      for (const term of containment.terms) visit(term, false)
      return
    }
    if (++classes > MAX_CLASSES)
      throw new TextSyntaxError(containment.position, `FROM can have at most ${MAX_CLASSES} classes`)
    requireClass(containment, isFirst)
    const { variable } = containment
    if (variable !== undefined && variables.has(variable.toLowerCase()))
      throw new TextSyntaxError(
        containment.position,
        `the variable ${quoteShortened(variable)} is already defined: use another name`,
      )
    if (variable !== undefined) variables.set(variable.toLowerCase(), variable)
    if (containment.contains) visit(containment.contains.containment, false)
  }
  visit(from, true)
  return variables
}

function requireClass({ rmType, position }: ClassNode, isFirst: boolean): void {
  if (rmType === 'EHR' && !isFirst)
    throw new TextSyntaxError(position, 'EHR must be the first class after FROM')
  if (!CONTAINER_CLASSES.has(rmType) && findRmClass(rmType) === undefined)
    throw new TextSyntaxError(
      position,
      `${quoteShortened(rmType)} is not a class of the reference model, such as COMPOSITION`,
    )
}

/** All paths, except those that refer to a column by its name. */
export function pathsOfQuery(query: QueryTree): Path[] {
  const columns = query.columns.flatMap(({ expression }) =>
    expression.kind === 'aggregate' ? (expression.path ?? []) : pathsOfOperand(expression),
  )
  const orders = query.orderBy
    .map(({ operand }) => operand)
    .filter((path) => findOrderColumn(path, query) === undefined)
  return [...columns, ...orders, ...pathsOfCondition(query.where)]
}

function pathsOfOperand(operand: Operand): Path[] {
  if (operand.kind === 'path') return [operand]
  return operand.kind === 'call' ? operand.arguments.flatMap(pathsOfOperand) : []
}

function pathsOfCondition(condition: Condition | undefined): Path[] {
  if (condition === undefined) return []
  switch (condition.kind) {
    case 'and':
    case 'or':
      return condition.terms.flatMap(pathsOfCondition)
    case 'not':
      return pathsOfCondition(condition.term)
    case 'exists':
      return [condition.path]
    case 'comparison':
      return [...pathsOfOperand(condition.left), ...pathsOfOperand(condition.right)]
    default:
      return pathsOfOperand(condition.left)
  }
}

/** The column that an ORDER BY path refers to: by alias, or because it is the same path. */
function findOrderColumn(path: Path, { columns }: QueryTree): number | undefined {
  const name = path.variable.toLowerCase()
  const isNamed = ({ alias }: Column) =>
    alias?.toLowerCase() === name && path.parts.length === 0 && !path.predicate
  const byName = columns.findIndex(isNamed)
  if (byName >= 0) return byName
  const same = columns.findIndex(({ expression }) => isSamePath(expression, path))
  return same < 0 ? undefined : same
}

/** Compares the predicates of two paths last, since most paths differ before. */
const isSamePath = (expression: Column['expression'] | undefined, path: Path): boolean =>
  expression?.kind === 'path' &&
  expression.variable === path.variable &&
  expression.parts.length === path.parts.length &&
  expression.parts.every(({ attribute }, i) => attribute === path.parts[i]?.attribute) &&
  contentKey(expression) === contentKey(path)

function checkOrder(order: OrderBy, query: QueryTree, variables: Variables): OrderBy {
  const { operand } = order
  const isVariable = operand.parts.length === 0 && variables.has(operand.variable.toLowerCase())
  const column = findOrderColumn(operand, query)
  const isGrouped = query.columns.some(({ expression }) => expression.kind === 'aggregate')
  if (column === undefined && isGrouped)
    throw new TextSyntaxError(
      operand.position,
      'a query with COUNT, MIN, MAX, SUM or AVG can be ordered by its columns only',
    )
  return column === undefined ||
    (isVariable && !isGrouped && !isSamePath(query.columns[column]?.expression, operand))
    ? { operand, descending: order.descending }
    : { ...order, column }
}

/** The names of the parameters of a query. @throws TextSyntaxError */
export function parameterNames(q: string): string[] {
  const names = new Set<string>()
  for (const { kind, text } of tokenize(q)) if (kind === 'parameter') names.add(text)
  return [...names]
}

/** The values of the parameters, and what the query has bound so far: it may name one parameter often. */
interface Binding {
  readonly parameters: QueryParameters
  readonly variables: Variables
  matchesValues: number
  patterns: number
  patternCharacters: number
}

/** Replaces the parameters by their values, and spells variables as FROM does; lists are allowed only in MATCHES. */
function bindParameters<T>(node: T, binding: Binding): T {
  if (Array.isArray(node)) return node.map((member) => bindParameters(member, binding)) as T
  if (typeof node !== 'object' || node === null) return node
  if ((node as unknown as Parameter).kind === 'parameter')
    return bindSingleValue(node as unknown as Parameter, binding.parameters) as T
  const entries = Object.entries(node).map(([name, value]) => [
    name,
    bindParameters(bindMember(node, name, value, binding), binding),
  ])
  return Object.fromEntries(entries) as T
}

/** The permitted types of a parameter depend on its position. */
function bindMember(node: object, name: string, value: unknown, binding: Binding): unknown {
  const { kind } = node as { kind?: string }
  if (kind === 'path' && name === 'variable')
    return binding.variables.get(String(value).toLowerCase()) ?? value
  if (kind === 'matches' && name === 'values')
    return (value as Constant[]).flatMap((one) => bindList(one, binding))
  const isPattern = kind === 'like' && name === 'pattern'
  const isText = isPattern || (kind === 'node' && (name === 'id' || name === 'name'))
  const boundValue =
    isText && (value as Constant).kind === 'parameter'
      ? bindText(value as Parameter, binding.parameters)
      : value
  if (isPattern) countPattern(boundValue as Literal, binding)
  return boundValue
}

function countPattern({ value, position }: Literal, binding: Binding): void {
  const { length } = String(value)
  if (length > MAX_PATTERN_LENGTH)
    throw new TextSyntaxError(
      position,
      `the pattern of LIKE can have at most ${MAX_PATTERN_LENGTH} characters`,
    )
  binding.patterns++
  binding.patternCharacters += length
  if (binding.patterns > MAX_PATTERNS || binding.patternCharacters > MAX_PATTERN_CHARACTERS)
    throw new TextSyntaxError(
      position,
      `a query can have at most ${MAX_PATTERNS} patterns of LIKE, with ${MAX_PATTERN_CHARACTERS} characters together`,
    )
}

function parameterValue({ name, position }: Parameter, parameters: QueryParameters): unknown {
  if (!Object.hasOwn(parameters, name))
    throw new TextSyntaxError(position, `query_parameters has no value for $${name.slice(0, 60)}`)
  return parameters[name]
}

function bindSingleValue(parameter: Parameter, parameters: QueryParameters): Literal {
  const { position, name } = parameter
  const value = parameterValue(parameter, parameters)
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
    return { kind: 'literal', value: value as Literal['value'], position }
  throw new TextSyntaxError(
    position,
    `$${name} must be a string, a number, true, false or null, not ${describeType(value)}`,
  )
}

function bindText(parameter: Parameter, parameters: QueryParameters): Literal {
  const value = parameterValue(parameter, parameters)
  if (typeof value === 'string') return { kind: 'literal', value, position: parameter.position }
  throw new TextSyntaxError(
    parameter.position,
    `$${parameter.name} must be a string, not ${describeType(value)}`,
  )
}

function bindList(one: Constant, binding: Binding): Constant[] {
  const value = one.kind === 'parameter' ? parameterValue(one, binding.parameters) : undefined
  binding.matchesValues += Array.isArray(value) ? value.length : 1
  if (binding.matchesValues > MAX_MATCHES_VALUES)
    throw new TextSyntaxError(
      one.position,
      `the lists of MATCHES can have at most ${MAX_MATCHES_VALUES} values together`,
    )
  if (!Array.isArray(value)) return [one]
  return value.map((member) => bindSingleValue({ ...(one as Parameter), name: 'x' }, { x: member }))
}

function describeType(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
