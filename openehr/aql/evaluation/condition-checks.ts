import type { Condition, Operand } from '../language/ast.ts'
import { applyFunction } from '../terms/functions.ts'
import { createLikeMatcher } from '../terms/like.ts'
import type { StepBudget } from '../terms/step-budget.ts'
import { compareTerms, type Term, type Truth, textOfTerm } from '../terms/terms.ts'
import { constantValue } from './path-evaluator.ts'
import type { BindingRow, BindingVariable, OperandGetter, PathJoins } from './path-joins.ts'

/** The inputs of functions and patterns in addition to their operands. */
export interface EvaluationContext {
  currentTime: Date
  steps: StepBudget
}

/** A condition on rows, and the variables on which it depends. */
export interface ConditionCheck {
  evaluate(row: BindingRow): Truth
  variables: readonly BindingVariable[]
  /** Two operands that must be equal for the condition to hold. */
  equal?: readonly [OperandGetter, OperandGetter] | undefined
}

/** The function that computes an operand. */
export function createGetter(operand: Operand, joins: PathJoins, context: EvaluationContext): OperandGetter {
  if (operand.kind === 'path') return joins.addPath(operand)
  if (operand.kind === 'call') {
    const getters = operand.arguments.map((one) => createGetter(one, joins, context))
    return {
      variables: getters.flatMap(({ variables }) => variables),
      getValue: (row) => ({
        value: applyFunction(
          operand.name,
          getters.map((one) => one.getValue(row)),
          context.currentTime,
          context.steps,
        ),
      }),
    }
  }
  const term: Term = { value: constantValue(operand) }
  return { getValue: () => term, variables: [] }
}

/** The terms of an AND, which are checked one by one. */
export function splitConjuncts(condition: Condition | undefined): Condition[] {
  if (condition === undefined) return []
  return condition.kind === 'and' ? condition.terms.flatMap(splitConjuncts) : [condition]
}

/** Adds the steps of all paths, except of those in EXISTS, which produce no rows. */
export function prepareCheck(
  condition: Condition,
  joins: PathJoins,
  context: EvaluationContext,
): () => ConditionCheck {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return prepareJoined(condition, joins, context)
    case 'not': {
      const createCheck = prepareCheck(condition.term, joins, context)
      return () => {
        const { evaluate, variables } = createCheck()
        return { variables, evaluate: (row) => negateTruth(evaluate(row)) }
      }
    }
    case 'exists':
      return () => joins.createExistenceTest(condition.path)
    case 'comparison': {
      const left = createGetter(condition.left, joins, context)
      const right = createGetter(condition.right, joins, context)
      const { operator } = condition
      const variables = [...left.variables, ...right.variables]
      const equal = operator === '=' ? ([left, right] as const) : undefined
      return () => ({
        variables,
        equal,
        evaluate: (row) => compareTerms(left.getValue(row), operator, right.getValue(row)),
      })
    }
    case 'like':
      return prepareLike(condition, joins, context)
    case 'matches':
      return prepareMatches(condition, joins, context)
  }
}

const negateTruth = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

function prepareJoined(
  { kind, terms }: Extract<Condition, { kind: 'and' | 'or' }>,
  joins: PathJoins,
  context: EvaluationContext,
): () => ConditionCheck {
  const checkFactories = terms.map((term) => prepareCheck(term, joins, context))
  const decisive = kind === 'or'
  return () => {
    const checks = checkFactories.map((one) => one())
    const evaluate = (row: BindingRow): Truth => {
      let unknown = false
      for (const one of checks) {
        const truth = one.evaluate(row)
        if (truth === decisive) return decisive
        if (truth === undefined) unknown = true
      }
      return unknown ? undefined : !decisive
    }
    return { evaluate, variables: checks.flatMap(({ variables }) => variables) }
  }
}

function prepareLike(
  { left, pattern }: Extract<Condition, { kind: 'like' }>,
  joins: PathJoins,
  context: EvaluationContext,
): () => ConditionCheck {
  const operand = createGetter(left, joins, context)
  const matches = createLikeMatcher(String(constantValue(pattern)), context.steps)
  const evaluate = (row: BindingRow): Truth => {
    const text = textOfTerm(operand.getValue(row))
    return text === undefined ? undefined : matches(text)
  }
  return () => ({ evaluate, variables: operand.variables })
}

function prepareMatches(
  { left, values }: Extract<Condition, { kind: 'matches' }>,
  joins: PathJoins,
  context: EvaluationContext,
): () => ConditionCheck {
  const operand = createGetter(left, joins, context)
  const terms = values.map((value) => ({ value: constantValue(value) }))
  const evaluate = (row: BindingRow): Truth => {
    const term = operand.getValue(row)
    if (term.value === undefined || term.value === null) return undefined
    return terms.some((one) => compareTerms(term, '=', one) === true)
  }
  return () => ({ evaluate, variables: operand.variables })
}
