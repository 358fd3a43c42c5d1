import type { Aggregate, Query } from '../language/ast.ts'
import type { Term } from '../terms/terms.ts'
import { conjuncts, getter, prepare } from './condition-checks.ts'
import { patternsOf } from './containment.ts'
import type { Forest } from './forest.ts'
import { type Getter, Joins, type Row } from './joins.ts'
import { Effort, type Found, Listing } from './ways/listing.ts'
import { Variables } from './ways/variables.ts'

/** A query made ready to be evaluated on one EHR, or one composition, after the other. */
export interface Evaluation {
  /** What the columns come to in a row; of an aggregate what it is made of. */
  columns: ((row: Row) => Term)[]
  /** By what rows are ordered. */
  orderBy: ((row: Row) => Term)[]
  /**
   * The rows of a forest.
   * @returns a generator that yields a row, always the same object, or undefined in between, where work may be interrupted
   */
  rows(forest: Forest): Generator<Found | undefined>
}

/** What is counted when nothing is named. */
const EACH: Getter = { of: () => ({ value: true }), about: [] }

/** @param query checked, with the values of its parameters */
export function evaluation(query: Query, now: Date): Evaluation {
  const patterns = patternsOf(query.from)
  const joins = new Joins(patterns.variables)
  const columns = query.columns.map(({ expression }) =>
    expression.kind === 'aggregate' ? aggregated(expression, joins) : getter(expression, joins, now),
  )
  const orderBy = query.orderBy.map(({ operand, column }) =>
    column === undefined ? joins.path(operand) : (columns[column] as Getter),
  )
  const prepared = conjuncts(query.where).map((condition) => prepare(condition, joins, now))
  const variables = new Variables({
    ...patterns,
    steps: joins.steps,
    conditions: prepared.map((one) => one()),
    said: [...columns, ...orderBy].flatMap(({ about }) => about),
  })
  const effort = new Effort()
  return {
    columns: columns.map(({ of }) => of),
    orderBy: orderBy.map(({ of }) => of),
    rows: (forest) => new Listing(variables, joins, forest, effort).rows(),
  }
}

const aggregated = ({ path }: Aggregate, joins: Joins): Getter => (path ? joins.path(path) : EACH)
