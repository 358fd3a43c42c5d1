import type { Aggregate, Query } from '../language/ast.ts'
import type { Term } from '../terms/terms.ts'
import { type ConditionCheck, conjuncts, getter, prepare } from './condition-checks.ts'
import { type Bound, bindings, patternsOf } from './containment.ts'
import type { Forest } from './forest.ts'
import { type Getter, Joins, type Row } from './joins.ts'

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
  rows(forest: Forest): Generator<Row | undefined>
}

/** What is counted when nothing is named. */
const EACH: Getter = { of: () => ({ value: true }), needs: 0 }

/** @param query checked, with the values of its parameters */
export function evaluation(query: Query, now: Date): Evaluation {
  const { pattern, slots, variables } = patternsOf(query.from)
  const joins = new Joins(variables)
  const columns = query.columns.map(({ expression }) =>
    expression.kind === 'aggregate' ? aggregated(expression, joins) : getter(expression, joins, now),
  )
  const orderBy = query.orderBy.map(({ operand, column }) =>
    column === undefined ? joins.path(operand) : (columns[column] as Getter),
  )
  const prepared = conjuncts(query.where).map((condition) => prepare(condition, joins, now))
  const holds = checksAfter(
    prepared.map((one) => one()),
    joins.steps.length,
  )
  return {
    columns: columns.map(({ of }) => of),
    orderBy: orderBy.map(({ of }) => of),
    *rows(forest) {
      const bound: Bound = new Array(slots).fill(undefined)
      const row: Row = { bound, values: [] }
      for (const found of bindings(pattern, forest, bound)) {
        if (!found) yield undefined
        else for (const isRow of joins.rows(row, holds)) yield isRow ? row : undefined
      }
    },
  }
}

const aggregated = ({ path }: Aggregate, joins: Joins): Getter => (path ? joins.path(path) : EACH)

/** Judges each condition as soon as its steps have been taken: what fails early is not gone into. */
function checksAfter(
  conditions: readonly ConditionCheck[],
  steps: number,
): (row: Row, taken: number) => boolean {
  const ready = Array.from({ length: steps + 1 }, (_, taken) =>
    conditions.filter(({ needs }) => needs === taken),
  )
  return (row, taken) => (ready[taken] as ConditionCheck[]).every(({ of }) => of(row) === true)
}
