import { TextFault } from '../formats/text-fault.ts'
import { rmClass } from '../rm/classes.ts'
import type {
  ClassNode,
  Column,
  Condition,
  Constant,
  Containment,
  Literal,
  Operand,
  Order,
  Parameter,
  Path,
  Query,
} from './language/ast.ts'
import { tokensOf } from './language/lexer.ts'

export type Parameters = Readonly<Record<string, unknown>>

/** Rows of one page, whoever says how many: the query, or who asks it. */
export const MOST_ROWS = 10_000

const MOST_CLASSES = 100
const LONGEST_PATH = 100
const MOST_PARTS = 2_000
const LONGEST_PATTERN = 1_000
/** Values of one MATCHES. */
const MOST_VALUES = 10_000

/** Classes that a query may name beside those of compositions and EHR_STATUS. */
const HOLDERS = new Set(['EHR', 'VERSION', 'ORIGINAL_VERSION'])

/**
 * Puts the values of the parameters in their places, and holds the query against what it names.
 * @throws TextFault
 */
export function checked(query: Query, parameters: Parameters): Query {
  const bound = withValues(query, parameters)
  const variables = variablesOf(bound.from)
  let parts = 0
  for (const path of pathsIn(bound)) {
    if (!variables.has(path.variable))
      throw new TextFault(
        path.at,
        `${quoted(path.variable)} is no variable of FROM: expected ${named(variables)}`,
      )
    parts += path.parts.length
    if (path.parts.length > LONGEST_PATH || parts > MOST_PARTS)
      throw new TextFault(path.at, `a path has at most ${LONGEST_PATH} steps, all together ${MOST_PARTS}`)
  }
  if ((bound.limit ?? 0) > MOST_ROWS)
    throw new TextFault(
      0,
      `a page has at most ${MOST_ROWS} rows: expected a lower LIMIT, and OFFSET for the next page`,
    )
  return { ...bound, orderBy: bound.orderBy.map((order) => ordered(order, bound, variables)) }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, 60))

const named = (variables: ReadonlySet<string>): string =>
  variables.size === 0 ? 'one, and FROM has none' : [...variables].slice(0, 20).join(', ')

/** Each class is one there is, each variable is said once. */
function variablesOf(from: ClassNode): Set<string> {
  const variables = new Set<string>()
  let classes = 0
  const visit = (containment: Containment, isFirst: boolean): void => {
    if (containment.kind !== 'class') {
      for (const term of containment.terms) visit(term, false)
      return
    }
    if (++classes > MOST_CLASSES)
      throw new TextFault(containment.at, `FROM has at most ${MOST_CLASSES} classes`)
    requireClass(containment, isFirst)
    const { variable } = containment
    if (variable !== undefined && variables.has(variable))
      throw new TextFault(
        containment.at,
        `the variable ${quoted(variable)} is there already: expected another name`,
      )
    if (variable !== undefined) variables.add(variable)
    if (containment.contains) visit(containment.contains.what, false)
  }
  visit(from, true)
  return variables
}

function requireClass({ rmType, at }: ClassNode, isFirst: boolean): void {
  if (rmType === 'FOLDER')
    throw new TextFault(at, 'FOLDER is not offered: expected EHR, COMPOSITION or EHR_STATUS')
  if (rmType === 'EHR' && !isFirst)
    throw new TextFault(at, 'an EHR is in nothing: expected it right behind FROM')
  if (!HOLDERS.has(rmType) && rmClass(rmType) === undefined)
    throw new TextFault(
      at,
      `${quoted(rmType)} is no class of the reference model: expected one, such as COMPOSITION`,
    )
}

/** All paths but those that a column's name stands for. */
export function pathsIn(query: Query): Path[] {
  const columns = query.columns.flatMap(({ expression }) =>
    expression.kind === 'aggregate' ? (expression.path ?? []) : pathsOf(expression),
  )
  const orders = query.orderBy
    .map(({ operand }) => operand)
    .filter((path) => columnOf(path, query) === undefined)
  return [...columns, ...orders, ...pathsOfCondition(query.where)]
}

function pathsOf(operand: Operand): Path[] {
  if (operand.kind === 'path') return [operand]
  return operand.kind === 'call' ? operand.arguments.flatMap(pathsOf) : []
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
      return [...pathsOf(condition.left), ...pathsOf(condition.right)]
    default:
      return pathsOf(condition.left)
  }
}

/** The column that a path to order by is: by its name, or as the same path. */
function columnOf(path: Path, { columns }: Query): number | undefined {
  const isNamed = ({ alias }: Column) => alias === path.variable && path.parts.length === 0 && !path.predicate
  const byName = columns.findIndex(isNamed)
  if (byName >= 0) return byName
  const same = columns.findIndex(({ expression }) => shape(expression) === shape(path))
  return same < 0 ? undefined : same
}

/** What is said, wherever it stands in the text. */
const shape = (node: unknown): string =>
  JSON.stringify(node, (name, value) => (name === 'at' ? undefined : value))

function ordered(order: Order, query: Query, variables: ReadonlySet<string>): Order {
  const { operand } = order
  const isVariable = operand.parts.length === 0 && variables.has(operand.variable)
  const column = columnOf(operand, query)
  const isGrouped = query.columns.some(({ expression }) => expression.kind === 'aggregate')
  if (column === undefined && isGrouped)
    throw new TextFault(
      operand.at,
      'beside COUNT, MIN, MAX, SUM and AVG rows are ordered by columns: expected one of them',
    )
  return column === undefined ||
    (isVariable && !isGrouped && shape(query.columns[column]?.expression) !== shape(operand))
    ? { operand, descending: order.descending }
    : { ...order, column }
}

/** The names of the parameters of a query. @throws TextFault */
export function parametersIn(q: string): string[] {
  const names = new Set<string>()
  for (const { kind, text } of tokensOf(q)) if (kind === 'parameter') names.add(text)
  return [...names]
}

/** The query with the values of its parameters; lists only where MATCHES has them. */
function withValues<T>(node: T, parameters: Parameters): T {
  if (Array.isArray(node)) return node.map((member) => withValues(member, parameters)) as T
  if (typeof node !== 'object' || node === null) return node
  if ((node as unknown as Parameter).kind === 'parameter')
    return single(node as unknown as Parameter, parameters) as T
  const entries = Object.entries(node).map(([name, value]) => [
    name,
    withValues(special(node, name, value, parameters), parameters),
  ])
  return Object.fromEntries(entries) as T
}

/** What a parameter may be depends on where it stands. */
function special(node: object, name: string, value: unknown, parameters: Parameters): unknown {
  const { kind } = node as { kind?: string }
  if (kind === 'matches' && name === 'values') {
    const values = (value as Constant[]).flatMap((one) => listed(one, parameters))
    if (values.length > MOST_VALUES)
      throw new TextFault(values[0]?.at ?? 0, `a list has at most ${MOST_VALUES} values`)
    return values
  }
  const isText =
    (kind === 'like' && name === 'pattern') || (kind === 'node' && (name === 'id' || name === 'name'))
  const found =
    isText && (value as Constant).kind === 'parameter' ? text(value as Parameter, parameters) : value
  if (kind === 'like' && name === 'pattern') requireShort(found as Literal)
  return found
}

function requireShort({ value, at }: Literal): void {
  if (String(value).length > LONGEST_PATTERN)
    throw new TextFault(at, `a pattern has at most ${LONGEST_PATTERN} characters`)
}

function given({ name, at }: Parameter, parameters: Parameters): unknown {
  if (!Object.hasOwn(parameters, name))
    throw new TextFault(at, `expected a value of $${name.slice(0, 60)} in query_parameters, found none`)
  return parameters[name]
}

function single(parameter: Parameter, parameters: Parameters): Literal {
  const { at, name } = parameter
  const value = given(parameter, parameters)
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value))
    return { kind: 'literal', value: value as Literal['value'], at }
  throw new TextFault(
    at,
    `expected a string, a number, true, false or null as $${name}, found ${found(value)}`,
  )
}

function text(parameter: Parameter, parameters: Parameters): Literal {
  const value = given(parameter, parameters)
  if (typeof value === 'string') return { kind: 'literal', value, at: parameter.at }
  throw new TextFault(parameter.at, `expected a string as $${parameter.name}, found ${found(value)}`)
}

function listed(one: Constant, parameters: Parameters): Constant[] {
  const value = one.kind === 'parameter' ? given(one, parameters) : undefined
  if (!Array.isArray(value)) return [one]
  return value.map((member) => single({ ...(one as Parameter), name: 'x' }, { x: member }))
}

const found = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
