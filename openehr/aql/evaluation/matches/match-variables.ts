import type { ClassPattern, ContainmentPattern, QueryPattern } from '../class-patterns.ts'
import type { ConditionCheck } from '../condition-checks.ts'
import type { BindingVariable, OperandGetter, PathJoinStep } from '../path-joins.ts'

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

/** The input for deciding which variables are enumerated and which are only counted. */
interface VariablesInput extends QueryPattern {
  steps: readonly PathJoinStep[]
  conditions: readonly ConditionCheck[]
  /** Variables that rows contain. */
  rowVariables: readonly BindingVariable[]
}

/**
 * Classifies the variables of a query. A variable is enumerated if a column, ORDER BY or a comparison with
 * another variable uses it. Of all others only the number of matches matters, which keeps large products
 * countable.
 */
export class MatchVariables {
  readonly pattern: ContainmentPattern
  readonly slots: number
  /** In the order in which they are bound. */
  readonly levels: readonly EnumeratedVariable[]
  /** Conditions that hold for all rows or for none. */
  readonly constants: readonly ConditionCheck[]
  readonly #given: readonly PathJoinStep[]
  readonly #steps: { children: number[]; filters: ConditionCheck[] }[]
  readonly #classes: { steps: number[]; filters: ConditionCheck[] }[]
  readonly #enumerated = new Set<ContainmentPattern>()

  constructor({ pattern, slots, steps, conditions, rowVariables }: VariablesInput) {
    this.pattern = pattern
    this.slots = slots
    this.#given = steps
    this.#steps = steps.map(() => ({ children: [], filters: [] }))
    this.#classes = Array.from({ length: slots }, () => ({ steps: [], filters: [] }))
    for (const [i, { slot, parent }] of steps.entries())
      (parent === undefined ? this.stepsOf(slot) : this.stepsBehind(parent)).push(i)
    const never = new Set(unmatchableSlots(pattern, true))
    const canBe = ({ slot }: BindingVariable) => !never.has(slot)
    const enumeratedVariables = { classes: new Set<number>(), steps: new Set<number>() }
    const list = ({ slot, step }: BindingVariable): void => {
      enumeratedVariables.classes.add(slot)
      for (let at = step; at !== undefined; at = steps[at]?.parent) enumeratedVariables.steps.add(at)
    }
    rowVariables.filter(canBe).forEach(list)
    const constants: ConditionCheck[] = []
    const crossing: { check: ConditionCheck; about: BindingVariable[] }[] = []
    for (const check of conditions) {
      const about = check.variables.filter(canBe)
      const last = dependentVariable(about, steps)
      if (about.length === 0) constants.push(check)
      else if (last) this.filtersOf(last).push(check)
      else {
        crossing.push({ check, about })
        about.forEach(list)
      }
    }
    this.constants = constants
    this.#findEnumerated(pattern, enumeratedVariables.classes)
    this.levels = this.#buildLevels(enumeratedVariables.steps, crossing)
  }

  /** The first steps of the paths that begin at a class. */
  readonly stepsOf = (slot: number): number[] => (this.#classes[slot] as { steps: number[] }).steps

  readonly stepsBehind = (step: number): number[] => (this.#steps[step] as { children: number[] }).children

  /** The conditions on a single variable and the steps to it. */
  filtersOf({ slot, step }: BindingVariable): ConditionCheck[] {
    return (step === undefined ? this.#classes[slot] : this.#steps[step])?.filters ?? []
  }

  isEnumerated(pattern: ContainmentPattern): boolean {
    return this.#enumerated.has(pattern)
  }

  #findEnumerated(pattern: ContainmentPattern, classes: ReadonlySet<number>): boolean {
    const inner = pattern.kind === 'class' ? [!pattern.isNegated && pattern.inner] : pattern.terms
    const innerVariables = inner.map((one) => one && this.#findEnumerated(one, classes))
    const is = innerVariables.includes(true) || (pattern.kind === 'class' && classes.has(pattern.slot))
    if (is) this.#enumerated.add(pattern)
    return is
  }

  #buildLevels(
    enumeratedSteps: ReadonlySet<number>,
    crossing: readonly { check: ConditionCheck; about: readonly BindingVariable[] }[],
  ): EnumeratedVariable[] {
    const variables: (Omit<EnumeratedVariable, 'checks'> & { checks: ConditionCheck[] })[] = []
    const addSteps = (slot: number, steps: readonly number[]): void => {
      for (const step of steps.filter((one) => enumeratedSteps.has(one))) {
        const behind = this.stepsBehind(step)
        const countedSteps = behind.filter((one) => !enumeratedSteps.has(one))
        variables.push({ slot, step, countedSteps, checks: [...this.filtersOf({ slot, step })] })
        addSteps(slot, behind)
      }
    }
    const add = (pattern: ContainmentPattern): void => {
      if (!this.isEnumerated(pattern)) return
      if (pattern.kind !== 'class') {
        pattern.terms.forEach(add)
        return
      }
      const { slot, inner, isNegated } = pattern
      const steps = this.stepsOf(slot)
      const countedSteps = steps.filter((one) => !enumeratedSteps.has(one))
      variables.push({ slot, pattern, countedSteps, checks: [...this.filtersOf({ slot })] })
      addSteps(slot, steps)
      if (inner && !isNegated) add(inner)
    }
    add(this.pattern)
    for (const { check, about } of crossing)
      variables
        .findLast((level) => about.some(({ slot, step }) => level.slot === slot && level.step === step))
        ?.checks.push(check)
    for (const { check } of crossing) this.#addEqualities(check, variables)
    return variables
  }

  #addEqualities({ equal }: ConditionCheck, levels: EnumeratedVariable[]): void {
    for (const [knownOperand, own] of equal ? [equal, [equal[1], equal[0]] as const] : []) {
      const [variable, ...others] = own.variables
      const isOf = ({ slot, step }: BindingVariable) =>
        levels.findIndex((one) => one.slot === slot && one.step === step)
      const before = Math.max(...knownOperand.variables.map(isOf))
      if (variable === undefined || others.length > 0 || knownOperand.variables.length === 0) continue
      const around = this.#enclosingClasses(this.pattern, variable.slot)
      const of = around.at(-1)
      for (const level of levels.slice(before + 1))
        if (of && level.pattern && around.includes(level.pattern))
          level.equality ??= {
            knownOperand,
            joinedOperand: own,
            joinedClass: of,
            steps: this.#stepsLeadingTo(variable.step),
          }
    }
  }

  #stepsLeadingTo(step: number | undefined): number[] {
    if (step === undefined) return []
    return [...this.#stepsLeadingTo(this.#given[step]?.parent), step]
  }

  /** A class after all classes that contain it. */
  #enclosingClasses(pattern: ContainmentPattern, slot: number): ClassPattern[] {
    if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => this.#enclosingClasses(term, slot))
    if (pattern.slot === slot) return [pattern]
    const inner = pattern.inner ? this.#enclosingClasses(pattern.inner, slot) : []
    return inner.length > 0 ? [pattern, ...inner] : []
  }
}

/** The slots of classes that are never bound, because NOT CONTAINS excludes them; or all slots. */
function unmatchableSlots(pattern: ContainmentPattern, onlyMissing: boolean): number[] {
  if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => unmatchableSlots(term, onlyMissing))
  const inner = pattern.inner ? unmatchableSlots(pattern.inner, onlyMissing && !pattern.isNegated) : []
  return onlyMissing ? inner : [pattern.slot, ...inner]
}

/** The variable to which the path of all others leads; undefined: they lie on different paths. */
function dependentVariable(
  variables: readonly BindingVariable[],
  steps: readonly PathJoinStep[],
): BindingVariable | undefined {
  const [first] = variables
  if (first === undefined || variables.some(({ slot }) => slot !== first.slot)) return undefined
  const last = variables.reduce((one, other) => ((other.step ?? -1) > (one.step ?? -1) ? other : one))
  const leading = new Set<number | undefined>([undefined])
  for (let at = last.step; at !== undefined; at = steps[at]?.parent) leading.add(at)
  return variables.every(({ step }) => leading.has(step)) ? last : undefined
}
