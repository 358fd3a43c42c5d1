import type { AggregateCall, QueryTree } from '../language/ast.ts'
import { StepBudget } from '../terms/step-budget.ts'
import type { Term } from '../terms/terms.ts'
import { buildQueryPattern } from './class-patterns.ts'
import { createGetter, prepareCheck, splitConjuncts } from './condition-checks.ts'
import type { EhrTree } from './ehr-tree.ts'
import { CombinationBudget, MatchEnumerator, type PatternMatch } from './matches/match-enumerator.ts'
import { MatchVariables } from './matches/match-variables.ts'
import { type BindingRow, type OperandGetter, PathJoins } from './path-joins.ts'

/** A prepared query, which is evaluated on one EHR tree after the other. */
export interface Evaluation {
  steps: StepBudget
  /** Compute the columns of a row; for an aggregate, its operand. */
  columns: ((row: BindingRow) => Term)[]
  /** Compute the values of ORDER BY. */
  orderBy: ((row: BindingRow) => Term)[]
  /**
   * The rows of an EHR tree.
   * @returns a generator that yields rows, always in the same object, and undefined where evaluation may
   * pause
   */
  rows(tree: EhrTree): Generator<PatternMatch | undefined>
}

/** The operand of COUNT(*). */
const COUNT_EACH: OperandGetter = { getValue: () => ({ value: true }), variables: [] }

/** @param query checked, with bound parameters */
export function createEvaluation(query: QueryTree, currentTime: Date): Evaluation {
  const context = { currentTime, steps: new StepBudget() }
  const patterns = buildQueryPattern(query.from)
  const joins = new PathJoins(patterns.variables)
  const columns = query.columns.map(({ expression }) =>
    expression.kind === 'aggregate'
      ? aggregateGetter(expression, joins)
      : createGetter(expression, joins, context),
  )
  const orderBy = query.orderBy.map(({ operand, column }) =>
    column === undefined ? joins.addPath(operand) : (columns[column] as OperandGetter),
  )
  const checkFactories = splitConjuncts(query.where).map((condition) =>
    prepareCheck(condition, joins, context),
  )
  const variables = new MatchVariables({
    ...patterns,
    steps: joins.steps,
    conditions: checkFactories.map((one) => one()),
    rowVariables: [...columns, ...orderBy].flatMap(({ variables }) => variables),
  })
  const combinations = new CombinationBudget()
  return {
    steps: context.steps,
    columns: columns.map(({ getValue }) => getValue),
    orderBy: orderBy.map(({ getValue }) => getValue),
    rows: (tree) =>
      new MatchEnumerator(variables, joins, tree, { combinations, steps: context.steps }).enumerate(),
  }
}

const aggregateGetter = ({ path }: AggregateCall, joins: PathJoins): OperandGetter =>
  path ? joins.addPath(path) : COUNT_EACH
