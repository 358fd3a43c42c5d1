import type { ContainmentPattern, QueryPattern } from '../class-patterns.ts'
import type { ConditionCheck } from '../condition-checks.ts'
import type { BindingVariable, PathJoinStep } from '../path-joins.ts'

/** The input for deciding which variables are enumerated and which are only counted. */
export interface VariablesInput extends QueryPattern {
  steps: readonly PathJoinStep[]
  conditions: readonly ConditionCheck[]
  /** Variables that rows contain. */
  rowVariables: readonly BindingVariable[]
}

/** A condition that compares variables on different paths. */
interface JoinCondition {
  check: ConditionCheck
  variables: readonly BindingVariable[]
}

/** The conditions of a query by the variables on which they depend, and the variables that are enumerated. */
export interface ClassifiedConditions {
  /** Conditions that hold for all rows or for none. */
  constants: ConditionCheck[]
  /** Conditions on one variable and the steps to it: of classes by slot, and of steps. */
  classFilters: ConditionCheck[][]
  stepFilters: ConditionCheck[][]
  joinConditions: JoinCondition[]
  enumeratedSlots: Set<number>
  enumeratedSteps: Set<number>
}

export function classifyConditions(input: VariablesInput): ClassifiedConditions {
  const { pattern, slots, steps, conditions, rowVariables } = input
  const unmatchable = new Set(unmatchableSlots(pattern))
  const isMatchable = ({ slot }: BindingVariable): boolean => !unmatchable.has(slot)
  const classified: ClassifiedConditions = {
    constants: [],
    classFilters: Array.from({ length: slots }, () => []),
    stepFilters: steps.map(() => []),
    joinConditions: [],
    enumeratedSlots: new Set(),
    enumeratedSteps: new Set(),
  }
  const { classFilters, stepFilters, enumeratedSlots, enumeratedSteps } = classified
  const enumerate = ({ slot, step }: BindingVariable): void => {
    enumeratedSlots.add(slot)
    for (const one of stepsLeadingTo(step, steps)) enumeratedSteps.add(one)
  }
  rowVariables.filter(isMatchable).forEach(enumerate)
  for (const check of conditions) {
    const variables = check.variables.filter(isMatchable)
    const last = lastOnSharedPath(variables, steps)
    if (variables.length === 0) classified.constants.push(check)
    else if (last?.step !== undefined) stepFilters[last.step]?.push(check)
    else if (last) classFilters[last.slot]?.push(check)
    else {
      classified.joinConditions.push({ check, variables })
      variables.forEach(enumerate)
    }
  }
  return classified
}

/** The slots of classes that are never bound, because NOT CONTAINS excludes them. */
function unmatchableSlots(pattern: ContainmentPattern): number[] {
  if (pattern.kind !== 'class') return pattern.terms.flatMap(unmatchableSlots)
  const { inner, isNegated } = pattern
  if (!inner) return []
  return isNegated ? slotsIn(inner) : unmatchableSlots(inner)
}

function slotsIn(pattern: ContainmentPattern): number[] {
  if (pattern.kind !== 'class') return pattern.terms.flatMap(slotsIn)
  return [pattern.slot, ...(pattern.inner ? slotsIn(pattern.inner) : [])]
}

/** A step and the steps before it, from the first one. */
export function stepsLeadingTo(step: number | undefined, steps: readonly PathJoinStep[]): number[] {
  if (step === undefined) return []
  return [...stepsLeadingTo(steps[step]?.parent, steps), step]
}

/** The variable whose path contains all others; undefined: they lie on different paths. */
function lastOnSharedPath(
  variables: readonly BindingVariable[],
  steps: readonly PathJoinStep[],
): BindingVariable | undefined {
  const [first] = variables
  if (first === undefined || variables.some(({ slot }) => slot !== first.slot)) return undefined
  const last = variables.reduce((one, other) => ((other.step ?? -1) > (one.step ?? -1) ? other : one))
  const path = new Set<number | undefined>([undefined, ...stepsLeadingTo(last.step, steps)])
  return variables.every(({ step }) => path.has(step)) ? last : undefined
}
