import type { ContainmentPattern } from '../class-patterns.ts'
import type { ConditionCheck } from '../condition-checks.ts'
import type { BindingVariable, PathJoinStep } from '../path-joins.ts'
import { type ClassifiedConditions, classifyConditions, type VariablesInput } from './classify-conditions.ts'
import { buildLevels, type EnumeratedVariable } from './enumerated-levels.ts'

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
  readonly #steps: readonly PathJoinStep[]
  readonly #firstSteps: readonly (readonly number[])[]
  readonly #conditions: ClassifiedConditions
  readonly #enumerated = new Set<ContainmentPattern>()

  constructor(input: VariablesInput) {
    const { pattern, slots, steps } = input
    this.pattern = pattern
    this.slots = slots
    this.#steps = steps
    this.#firstSteps = firstStepsBySlot(steps, slots)
    this.#conditions = classifyConditions(input)
    addEnumeratedPatterns(pattern, this.#conditions.enumeratedSlots, this.#enumerated)
    this.levels = buildLevels({
      pattern,
      steps,
      conditions: this.#conditions,
      isEnumerated: (one) => this.isEnumerated(one),
      stepsOf: (slot) => this.stepsOf(slot),
      stepsAfter: (step) => this.stepsAfter(step),
      filtersOf: (variable) => this.filtersOf(variable),
    })
  }

  /** Conditions that hold for all rows or for none. */
  get constants(): readonly ConditionCheck[] {
    return this.#conditions.constants
  }

  /** The first steps of the paths that begin at a class. */
  stepsOf(slot: number): readonly number[] {
    return this.#firstSteps[slot] as readonly number[]
  }

  stepsAfter(step: number): readonly number[] {
    return (this.#steps[step] as PathJoinStep).next
  }

  /** The conditions on a single variable and the steps to it. */
  filtersOf({ slot, step }: BindingVariable): readonly ConditionCheck[] {
    const { classFilters, stepFilters } = this.#conditions
    return (step === undefined ? classFilters[slot] : stepFilters[step]) ?? []
  }

  /** Whether a pattern is, or contains, an enumerated class. */
  isEnumerated(pattern: ContainmentPattern): boolean {
    return this.#enumerated.has(pattern)
  }
}

function firstStepsBySlot(steps: readonly PathJoinStep[], slots: number): number[][] {
  const firstSteps: number[][] = Array.from({ length: slots }, () => [])
  for (const [step, { slot, parent }] of steps.entries())
    if (parent === undefined) firstSteps[slot]?.push(step)
  return firstSteps
}

/** @returns whether the pattern is one of them */
function addEnumeratedPatterns(
  pattern: ContainmentPattern,
  enumeratedSlots: ReadonlySet<number>,
  patterns: Set<ContainmentPattern>,
): boolean {
  const inner = pattern.kind === 'class' ? [!pattern.isNegated && pattern.inner] : pattern.terms
  const areEnumerated = inner.map((one) => one && addEnumeratedPatterns(one, enumeratedSlots, patterns))
  const isEnumerated =
    areEnumerated.includes(true) || (pattern.kind === 'class' && enumeratedSlots.has(pattern.slot))
  if (isEnumerated) patterns.add(pattern)
  return isEnumerated
}
