import type { Condition, Operand } from '../language/ast.ts'
import { applied } from '../terms/functions.ts'
import { likePattern } from '../terms/like.ts'
import { compare, type Term, type Truth, textIn } from '../terms/terms.ts'
import type { Getter, Joins, Row, Variable } from './joins.ts'
import { constantOf } from './predicates.ts'

/** A condition on rows, and what has to be known before it can be judged. */
export interface ConditionCheck {
  of(row: Row): Truth
  about: readonly Variable[]
  /** What has to be equal for it. */
  equal?: readonly [Getter, Getter] | undefined
}

/** What an operand comes to. */
export function getter(operand: Operand, joins: Joins, now: Date): Getter {
  if (operand.kind === 'path') return joins.path(operand)
  if (operand.kind === 'call') {
    const given = operand.arguments.map((one) => getter(one, joins, now))
    return {
      about: given.flatMap(({ about }) => about),
      of: (row) => ({
        value: applied(
          operand.name,
          given.map((one) => one.of(row)),
          now,
        ),
      }),
    }
  }
  const term: Term = { value: constantOf(operand) }
  return { of: () => term, about: [] }
}

/** The terms of an AND, one by one: each is judged by itself. */
export function conjuncts(condition: Condition | undefined): Condition[] {
  if (condition === undefined) return []
  return condition.kind === 'and' ? condition.terms.flatMap(conjuncts) : [condition]
}

/** Takes the steps of all paths but those that are only asked whether they exist. */
export function prepare(condition: Condition, joins: Joins, now: Date): () => ConditionCheck {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return joined(condition, joins, now)
    case 'not': {
      const prepared = prepare(condition.term, joins, now)
      return () => {
        const { of, about } = prepared()
        return { about, of: (row) => negated(of(row)) }
      }
    }
    case 'exists':
      return () => joins.exists(condition.path)
    case 'comparison': {
      const [left, right] = [getter(condition.left, joins, now), getter(condition.right, joins, now)]
      const { operator } = condition
      const about = [...left.about, ...right.about]
      const equal = operator === '=' ? ([left, right] as const) : undefined
      return () => ({ about, equal, of: (row) => compare(left.of(row), operator, right.of(row)) })
    }
    case 'like':
      return like(condition, joins, now)
    case 'matches':
      return matches(condition, joins, now)
  }
}

const negated = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

function joined(
  { kind, terms }: Extract<Condition, { kind: 'and' | 'or' }>,
  joins: Joins,
  now: Date,
): () => ConditionCheck {
  const prepared = terms.map((term) => prepare(term, joins, now))
  const decisive = kind === 'or'
  return () => {
    const checks = prepared.map((one) => one())
    const of = (row: Row): Truth => {
      let unknown = false
      for (const one of checks) {
        const truth = one.of(row)
        if (truth === decisive) return decisive
        if (truth === undefined) unknown = true
      }
      return unknown ? undefined : !decisive
    }
    return { of, about: checks.flatMap(({ about }) => about) }
  }
}

function like(
  { left, pattern }: Extract<Condition, { kind: 'like' }>,
  joins: Joins,
  now: Date,
): () => ConditionCheck {
  const operand = getter(left, joins, now)
  const fits = likePattern(String(constantOf(pattern)))
  const of = (row: Row): Truth => {
    const text = textIn(operand.of(row))
    return text === undefined ? undefined : fits(text)
  }
  return () => ({ of, about: operand.about })
}

function matches(
  { left, values }: Extract<Condition, { kind: 'matches' }>,
  joins: Joins,
  now: Date,
): () => ConditionCheck {
  const operand = getter(left, joins, now)
  const terms = values.map((value) => ({ value: constantOf(value) }))
  const of = (row: Row): Truth => {
    const term = operand.of(row)
    if (term.value === undefined || term.value === null) return undefined
    return terms.some((one) => compare(term, '=', one) === true)
  }
  return () => ({ of, about: operand.about })
}
