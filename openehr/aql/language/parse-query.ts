import { TextSyntaxError } from '../../formats/text-syntax-error.ts'
import type { AggregateCall, ClassNode, Column, Containment, Path, QueryTree } from './ast.ts'
import { parseCondition, parseOperand } from './parse-condition.ts'
import { parsePath, parsePredicate } from './parse-path.ts'
import { TokenReader } from './token-reader.ts'

/** Limit for columns, and for paths in ORDER BY. */
const MAX_COLUMNS = 500

/**
 * Parses a query of the Archetype Query Language, openEHR QUERY 1.1.
 * @throws TextSyntaxError
 */
export function parseQuery(text: string): QueryTree {
  const reader = new TokenReader(text)
  reader.expect('SELECT')
  const distinct = reader.word('DISTINCT')
  const top = parseTop(reader)
  const columns = reader.readList(() => parseColumn(reader))
  reader.expect('FROM')
  const from = parseContainment(reader)
  if (from.kind !== 'class')
    throw new TextSyntaxError(from.position, 'FROM must begin with one class, which CONTAINS the others')
  const where = reader.word('WHERE') ? parseCondition(reader) : undefined
  const orderBy = parseOrderBy(reader)
  if (top && reader.isWord('LIMIT'))
    throw new TextSyntaxError(reader.peek().position, 'TOP and LIMIT exclude each other: leave out TOP')
  const limits = top ?? parseLimits(reader)
  reader.symbol(';')
  if (reader.peek().kind !== 'end')
    reader.fail(expectedClauses({ where, orderBy, limits: top ? {} : limits }))
  if (columns.length > MAX_COLUMNS || orderBy.length > MAX_COLUMNS)
    throw new TextSyntaxError(
      0,
      `the columns and the paths to order by can be at most ${MAX_COLUMNS} together`,
    )
  return { distinct, columns, from, ...(where && { where }), orderBy, ...limits }
}

/**
 * The limit of AQL 1.0, which 1.1 deprecates. The specification does not say which rows BACKWARD selects, so it is
 * refused.
 */
function parseTop(reader: TokenReader): Pick<QueryTree, 'limit'> | undefined {
  if (!reader.isWord('TOP') || reader.peek(1).kind !== 'number') return undefined
  reader.take()
  const limit = reader.readInteger('the number of rows')
  if (reader.isWord('BACKWARD'))
    throw new TextSyntaxError(
      reader.peek().position,
      'BACKWARD is not supported: use ORDER BY with DESC, and LIMIT',
    )
  reader.word('FORWARD')
  return { limit }
}

function expectedClauses({
  where,
  orderBy,
  limits,
}: {
  where: unknown
  orderBy: unknown[]
  limits: object
}): string {
  if ('limit' in limits) return 'the end of the query'
  if (orderBy.length > 0) return 'a comma, LIMIT or the end of the query'
  return where
    ? 'AND, OR, ORDER BY, LIMIT or the end of the query'
    : 'CONTAINS, WHERE, ORDER BY, LIMIT or the end of the query'
}

function parseColumn(reader: TokenReader): Column {
  const { position } = reader.peek()
  const expression = parseAggregate(reader) ?? parseOperand(reader)
  const text = reader.text.slice(position, reader.end)
  const alias = reader.word('AS') ? reader.takeName('the name of the column') : undefined
  return { expression, text, ...(alias !== undefined && { alias }) }
}

const AGGREGATE_NAMES = ['COUNT', 'MIN', 'MAX', 'SUM', 'AVG'] as const

function parseAggregate(reader: TokenReader): AggregateCall | undefined {
  const name = AGGREGATE_NAMES.find((one) => reader.isWord(one) && reader.isSymbol('(', 1))
  if (name === undefined) return undefined
  const { position } = reader.take()
  reader.expect('(')
  const distinct = name === 'COUNT' && reader.word('DISTINCT')
  const countsRows = name === 'COUNT' && !distinct && reader.symbol('*')
  const operand: { path?: Path } = countsRows ? {} : { path: parsePath(reader) }
  reader.expect(')')
  return { kind: 'aggregate', name, distinct, ...operand, position }
}

/** CONTAINS extends to the end: `A CONTAINS B AND C` is `A CONTAINS (B AND C)`. */
const parseContainment = (reader: TokenReader): Containment => {
  const { position } = reader.peek()
  return reader.readLogical(
    () => reader.readEnclosed('(', () => parseContainment(reader)) ?? parseClassNode(reader),
    (kind, terms) => ({ kind, terms, position }),
  )
}

function parseClassNode(reader: TokenReader): ClassNode {
  const { position } = reader.peek()
  const rmType = reader.takeName('a class of the reference model').toUpperCase()
  const variable = reader.isName() ? reader.take().text : undefined
  const inBrackets =
    rmType === 'VERSION' ? parseVersionPredicate(reader) : { predicate: parsePredicate(reader) }
  const node: ClassNode = {
    kind: 'class',
    rmType,
    position,
    ...(variable !== undefined && { variable }),
    ...(inBrackets.predicate && { predicate: inBrackets.predicate }),
    ...('versions' in inBrackets && { versions: inBrackets.versions }),
  }
  const isNegated = reader.isWord('NOT') && reader.isWord('CONTAINS', 1)
  if (isNegated) reader.take()
  if (!reader.word('CONTAINS')) return node
  return { ...node, contains: { isNegated, containment: reader.readNested(() => parseContainment(reader)) } }
}

/** A predicate on a version means all versions; without one, only the latest version counts. */
function parseVersionPredicate(
  reader: TokenReader,
): Pick<ClassNode, 'predicate'> & { versions: 'latest' | 'all' } {
  for (const [word, versions] of [
    ['LATEST_VERSION', 'latest'],
    ['ALL_VERSIONS', 'all'],
  ] as const) {
    if (!reader.isSymbol('[') || !reader.isWord(word, 1)) continue
    reader.take()
    reader.take()
    reader.expect(']')
    return { versions }
  }
  const predicate = parsePredicate(reader)
  return predicate ? { versions: 'all', predicate } : { versions: 'latest' }
}

function parseOrderBy(reader: TokenReader): QueryTree['orderBy'] {
  if (!reader.word('ORDER')) return []
  reader.expect('BY')
  return reader.readList(() => {
    const operand = parsePath(reader)
    const descending = reader.word('DESC') || reader.word('DESCENDING')
    if (!descending && !reader.word('ASC')) reader.word('ASCENDING')
    return { operand, descending }
  })
}

function parseLimits(reader: TokenReader): Pick<QueryTree, 'limit' | 'offset'> {
  if (!reader.word('LIMIT')) return {}
  const limit = reader.readInteger('the number of rows')
  return reader.word('OFFSET')
    ? { limit, offset: reader.readInteger('the number of rows to skip') }
    : { limit }
}
