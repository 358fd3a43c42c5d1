import type { ClassPattern, ContainmentPattern } from '../class-patterns.ts'
import type { ConditionCheck } from '../condition-checks.ts'
import type { BindingVariable, OperandGetter, PathJoinStep } from '../path-joins.ts'
import { type ClassifiedConditions, stepsLeadingTo } from './classify-conditions.ts'

/** An enumerated variable: each of its values produces rows of its own. */
export interface EnumeratedVariable {
  slot: number
  /** Set if the variable is a class. */
  pattern?: ClassPattern
  /** Set if the variable is a step. */
  step?: number
  /** The steps directly after it that are only counted. */
  countedSteps: readonly number[]
  /** Conditions that can be decided once the variable has a value. */
  checks: readonly ConditionCheck[]
  /** An equality with a variable of an earlier level. */
  equality?: JoinEquality
}

/** An equality join: a value of the class, or inside it, must equal an already known value. */
export interface JoinEquality {
  knownOperand: OperandGetter
  /** The class that contains the joined value, its operand, and the steps to it. */
  joinedClass: ClassPattern
  joinedOperand: OperandGetter
  steps: readonly number[]
}

/** The variables of a query, and how they depend on each other. */
interface LevelsInput {
  pattern: ContainmentPattern
  steps: readonly PathJoinStep[]
  conditions: Pick<ClassifiedConditions, 'joinConditions' | 'enumeratedSteps'>
  isEnumerated(pattern: ContainmentPattern): boolean
  stepsOf(slot: number): readonly number[]
  stepsAfter(step: number): readonly number[]
  filtersOf(variable: BindingVariable): readonly ConditionCheck[]
}

type Level = Omit<EnumeratedVariable, 'checks'> & { checks: ConditionCheck[] }

/** The enumerated variables in the order in which they are bound: a class, its steps, then the classes in it. */
export function buildLevels(input: LevelsInput): EnumeratedVariable[] {
  const { pattern, steps, conditions } = input
  const levels = listLevels(input)
  for (const { check, variables } of conditions.joinConditions)
    levels
      .findLast((level) => variables.some(({ slot, step }) => level.slot === slot && level.step === step))
      ?.checks.push(check)
  for (const { check } of conditions.joinConditions) addEqualities(check, levels, pattern, steps)
  return levels
}

function listLevels(input: LevelsInput): Level[] {
  const { enumeratedSteps } = input.conditions
  const levels: Level[] = []
  const addLevel = (
    variable: Pick<Level, 'slot' | 'step' | 'pattern'>,
    following: readonly number[],
  ): void => {
    const countedSteps = following.filter((step) => !enumeratedSteps.has(step))
    levels.push({ ...variable, countedSteps, checks: [...input.filtersOf(variable)] })
    for (const step of following.filter((one) => enumeratedSteps.has(one)))
      addLevel({ slot: variable.slot, step }, input.stepsAfter(step))
  }
  const addPattern = (pattern: ContainmentPattern): void => {
    if (!input.isEnumerated(pattern)) return
    if (pattern.kind !== 'class') {
      pattern.terms.forEach(addPattern)
      return
    }
    const { slot, inner, isNegated } = pattern
    addLevel({ slot, pattern }, input.stepsOf(slot))
    if (inner && !isNegated) addPattern(inner)
  }
  addPattern(input.pattern)
  return levels
}

/** Notes an equality in the levels of all classes around the joined value that are bound after the known one. */
function addEqualities(
  { equal }: ConditionCheck,
  levels: Level[],
  pattern: ContainmentPattern,
  steps: readonly PathJoinStep[],
): void {
  if (!equal) return
  const [left, right] = equal
  for (const [knownOperand, joinedOperand] of [[left, right] as const, [right, left] as const]) {
    const [variable, ...others] = joinedOperand.variables
    if (variable === undefined || others.length > 0 || knownOperand.variables.length === 0) continue
    const levelsOfKnown = knownOperand.variables.map(({ slot, step }) =>
      levels.findIndex((one) => one.slot === slot && one.step === step),
    )
    const enclosingClasses = findEnclosingClasses(pattern, variable.slot)
    const joinedClass = enclosingClasses.at(-1)
    for (const level of levels.slice(Math.max(...levelsOfKnown) + 1))
      if (joinedClass && level.pattern && enclosingClasses.includes(level.pattern))
        level.equality ??= {
          knownOperand,
          joinedClass,
          joinedOperand,
          steps: stepsLeadingTo(variable.step, steps),
        }
  }
}

/** A class after all classes that contain it. */
function findEnclosingClasses(pattern: ContainmentPattern, slot: number): ClassPattern[] {
  if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => findEnclosingClasses(term, slot))
  if (pattern.slot === slot) return [pattern]
  const inner = pattern.inner ? findEnclosingClasses(pattern.inner, slot) : []
  return inner.length > 0 ? [pattern, ...inner] : []
}
