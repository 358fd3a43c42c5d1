import { TextFault } from '../../formats/text-fault.ts'
import type { Aggregate, ClassNode, Column, Containment, Path, Query } from './ast.ts'
import { condition, operand } from './condition.ts'
import { path, predicateOf } from './paths.ts'
import { Reader } from './reader.ts'

/** Columns, and paths to order by. */
const MOST = 500

/**
 * Reads a query of the Archetype Query Language, openEHR QUERY 1.1.
 * @throws TextFault
 */
export function parseQuery(text: string): Query {
  const reader = new Reader(text)
  reader.need('SELECT')
  const distinct = reader.word('DISTINCT')
  if (reader.isWord('TOP') && reader.peek(1).kind === 'number')
    throw new TextFault(reader.peek().at, 'TOP is not offered: expected LIMIT at the end')
  const columns = reader.listed(() => column(reader))
  reader.need('FROM')
  const from = containment(reader)
  if (from.kind !== 'class')
    throw new TextFault(from.at, 'FROM begins with one class, which CONTAINS the others')
  const where = reader.word('WHERE') ? condition(reader) : undefined
  const orderBy = ordering(reader)
  const limits = limiting(reader)
  reader.symbol(';')
  if (reader.peek().kind !== 'end') reader.fail(expectedBehind({ where, orderBy, limits }))
  if (columns.length > MOST || orderBy.length > MOST)
    throw new TextFault(0, `a query has at most ${MOST} columns, and paths to order by`)
  return { distinct, columns, from, ...(where && { where }), orderBy, ...limits }
}

function expectedBehind({
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

function column(reader: Reader): Column {
  const { at } = reader.peek()
  const expression = aggregate(reader) ?? operand(reader)
  const text = reader.text.slice(at, reader.end)
  const alias = reader.word('AS') ? reader.name('the name of the column') : undefined
  return { expression, text, ...(alias !== undefined && { alias }) }
}

const AGGREGATES = ['COUNT', 'MIN', 'MAX', 'SUM', 'AVG'] as const

function aggregate(reader: Reader): Aggregate | undefined {
  const name = AGGREGATES.find((one) => reader.isWord(one) && reader.isSymbol('(', 1))
  if (name === undefined) return undefined
  const { at } = reader.take()
  reader.need('(')
  const distinct = name === 'COUNT' && reader.word('DISTINCT')
  const all = name === 'COUNT' && !distinct && reader.symbol('*')
  const of: { path?: Path } = all ? {} : { path: path(reader) }
  reader.need(')')
  return { kind: 'aggregate', name, distinct, ...of, at }
}

/** What CONTAINS reaches to the end: `A CONTAINS B AND C` is `A CONTAINS (B AND C)`. */
const containment = (reader: Reader): Containment => {
  const { at } = reader.peek()
  return reader.joined(
    'OR',
    () =>
      reader.joined(
        'AND',
        () => contained(reader),
        (terms) => ({ kind: 'and', terms, at }),
      ),
    (terms) => ({ kind: 'or', terms, at }),
  )
}

function contained(reader: Reader): Containment {
  if (!reader.symbol('(')) return classNode(reader)
  const found = reader.nested(() => containment(reader))
  reader.need(')')
  return found
}

function classNode(reader: Reader): ClassNode {
  const { at } = reader.peek()
  const rmType = reader.name('a class of the reference model').toUpperCase()
  const variable = reader.isName() ? reader.take().text : undefined
  const inBrackets = rmType === 'VERSION' ? versionPredicate(reader) : { predicate: predicateOf(reader) }
  const node: ClassNode = {
    kind: 'class',
    rmType,
    at,
    ...(variable !== undefined && { variable }),
    ...(inBrackets.predicate && { predicate: inBrackets.predicate }),
    ...('versions' in inBrackets && { versions: inBrackets.versions }),
  }
  const negated = reader.isWord('NOT') && reader.isWord('CONTAINS', 1)
  if (negated) reader.take()
  if (!reader.word('CONTAINS')) return node
  return { ...node, contains: { negated, what: reader.nested(() => containment(reader)) } }
}

/** Whoever says by what a version is known means all there are; without anything it is the latest. */
function versionPredicate(reader: Reader): Pick<ClassNode, 'predicate'> & { versions: 'latest' | 'all' } {
  for (const [word, versions] of [
    ['LATEST_VERSION', 'latest'],
    ['ALL_VERSIONS', 'all'],
  ] as const) {
    if (!reader.isSymbol('[') || !reader.isWord(word, 1)) continue
    reader.take()
    reader.take()
    reader.need(']')
    return { versions }
  }
  const predicate = predicateOf(reader)
  return predicate ? { versions: 'all', predicate } : { versions: 'latest' }
}

function ordering(reader: Reader): Query['orderBy'] {
  if (!reader.word('ORDER')) return []
  reader.need('BY')
  return reader.listed(() => {
    const operand = path(reader)
    const descending = reader.word('DESC') || reader.word('DESCENDING')
    if (!descending && !reader.word('ASC')) reader.word('ASCENDING')
    return { operand, descending }
  })
}

function limiting(reader: Reader): Pick<Query, 'limit' | 'offset'> {
  if (!reader.word('LIMIT')) return {}
  const limit = reader.integer('the number of rows')
  return reader.word('OFFSET')
    ? { limit, offset: reader.integer('the number of rows to leave out') }
    : { limit }
}
