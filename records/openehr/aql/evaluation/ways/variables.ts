import type { ConditionCheck } from '../condition-checks.ts'
import type { ClassPattern, Pattern, Patterns } from '../containment.ts'
import type { Getter, Step, Variable } from '../joins.ts'

/** A variable that is listed: each of its values makes rows of its own. */
export interface Level {
  slot: number
  /** Of a class. */
  pattern?: ClassPattern
  /** Of a step. */
  step?: number
  /** The steps right behind it that are only counted. */
  counted: readonly number[]
  /** What is known to be true or not as soon as it has a value. */
  checks: readonly ConditionCheck[]
  /** What has to be equal to something before it. */
  equality?: Equality
}

/** Of a class, or in it, there is something that is equal to what is known already. */
export interface Equality {
  known: Getter
  /** Of which class it is, and what: a variable, with the steps that lead to it. */
  of: ClassPattern
  own: Getter
  steps: readonly number[]
}

/** A query as far as it can be told apart which variables are listed, since rows say or compare their values, and which are counted. */
interface Given extends Patterns {
  steps: readonly Step[]
  conditions: readonly ConditionCheck[]
  /** What rows say. */
  said: readonly Variable[]
}

/**
 * The variables of a query. Most of a large product are not listed: of what no column, no order and no comparison with another
 * variable names it matters only in how many ways it is there.
 */
export class Variables {
  readonly pattern: Pattern
  readonly slots: number
  /** In the order in which they get their values. */
  readonly levels: readonly Level[]
  /** What is true of all rows or of none. */
  readonly constants: readonly ConditionCheck[]
  readonly #given: readonly Step[]
  readonly #steps: { children: number[]; filters: ConditionCheck[] }[]
  readonly #classes: { steps: number[]; filters: ConditionCheck[] }[]
  readonly #listed = new Set<Pattern>()

  constructor({ pattern, slots, steps, conditions, said }: Given) {
    this.pattern = pattern
    this.slots = slots
    this.#given = steps
    this.#steps = steps.map(() => ({ children: [], filters: [] }))
    this.#classes = Array.from({ length: slots }, () => ({ steps: [], filters: [] }))
    for (const [i, { slot, parent }] of steps.entries())
      (parent === undefined ? this.stepsOf(slot) : this.stepsBehind(parent)).push(i)
    const never = new Set(classesIn(pattern, true))
    const canBe = ({ slot }: Variable) => !never.has(slot)
    const listed = { classes: new Set<number>(), steps: new Set<number>() }
    const list = ({ slot, step }: Variable): void => {
      listed.classes.add(slot)
      for (let at = step; at !== undefined; at = steps[at]?.parent) listed.steps.add(at)
    }
    said.filter(canBe).forEach(list)
    const constants: ConditionCheck[] = []
    const crossing: { check: ConditionCheck; about: Variable[] }[] = []
    for (const check of conditions) {
      const about = check.about.filter(canBe)
      const last = lastOf(about, steps)
      if (about.length === 0) constants.push(check)
      else if (last) this.filtersOf(last).push(check)
      else {
        crossing.push({ check, about })
        about.forEach(list)
      }
    }
    this.constants = constants
    this.#findListed(pattern, listed.classes)
    this.levels = this.#levelsOf(listed.steps, crossing)
  }

  /** The first steps of the paths that begin at a class. */
  readonly stepsOf = (slot: number): number[] => (this.#classes[slot] as { steps: number[] }).steps

  readonly stepsBehind = (step: number): number[] => (this.#steps[step] as { children: number[] }).children

  /** The conditions on nothing but a variable, and what leads to it. */
  filtersOf({ slot, step }: Variable): ConditionCheck[] {
    return (step === undefined ? this.#classes[slot] : this.#steps[step])?.filters ?? []
  }

  isListed(pattern: Pattern): boolean {
    return this.#listed.has(pattern)
  }

  #findListed(pattern: Pattern, classes: ReadonlySet<number>): boolean {
    const inner = pattern.kind === 'class' ? [!pattern.negated && pattern.inner] : pattern.terms
    const found = inner.map((one) => one && this.#findListed(one, classes))
    const is = found.includes(true) || (pattern.kind === 'class' && classes.has(pattern.slot))
    if (is) this.#listed.add(pattern)
    return is
  }

  #levelsOf(
    listed: ReadonlySet<number>,
    crossing: readonly { check: ConditionCheck; about: readonly Variable[] }[],
  ): Level[] {
    const found: (Omit<Level, 'checks'> & { checks: ConditionCheck[] })[] = []
    const addSteps = (slot: number, steps: readonly number[]): void => {
      for (const step of steps.filter((one) => listed.has(one))) {
        const behind = this.stepsBehind(step)
        const counted = behind.filter((one) => !listed.has(one))
        found.push({ slot, step, counted, checks: [...this.filtersOf({ slot, step })] })
        addSteps(slot, behind)
      }
    }
    const add = (pattern: Pattern): void => {
      if (!this.isListed(pattern)) return
      if (pattern.kind !== 'class') {
        pattern.terms.forEach(add)
        return
      }
      const { slot, inner, negated } = pattern
      const steps = this.stepsOf(slot)
      const counted = steps.filter((one) => !listed.has(one))
      found.push({ slot, pattern, counted, checks: [...this.filtersOf({ slot })] })
      addSteps(slot, steps)
      if (inner && !negated) add(inner)
    }
    add(this.pattern)
    for (const { check, about } of crossing)
      found
        .findLast((level) => about.some(({ slot, step }) => level.slot === slot && level.step === step))
        ?.checks.push(check)
    for (const { check } of crossing) this.#addEqualities(check, found)
    return found
  }

  #addEqualities({ equal }: ConditionCheck, levels: Level[]): void {
    for (const [known, own] of equal ? [equal, [equal[1], equal[0]] as const] : []) {
      const [variable, ...others] = own.about
      const isOf = ({ slot, step }: Variable) =>
        levels.findIndex((one) => one.slot === slot && one.step === step)
      const before = Math.max(...known.about.map(isOf))
      if (variable === undefined || others.length > 0 || known.about.length === 0) continue
      const around = this.#around(this.pattern, variable.slot)
      const of = around.at(-1)
      for (const level of levels.slice(before + 1))
        if (of && level.pattern && around.includes(level.pattern))
          level.equality ??= { known, own, of, steps: this.#leadingTo(variable.step) }
    }
  }

  #leadingTo(step: number | undefined): number[] {
    if (step === undefined) return []
    return [...this.#leadingTo(this.#given[step]?.parent), step]
  }

  /** A class with those that contain it, it last. */
  #around(pattern: Pattern, slot: number): ClassPattern[] {
    if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => this.#around(term, slot))
    if (pattern.slot === slot) return [pattern]
    const inner = pattern.inner ? this.#around(pattern.inner, slot) : []
    return inner.length > 0 ? [pattern, ...inner] : []
  }
}

/** The classes that are never there, since something has to be without them; or all. */
function classesIn(pattern: Pattern, onlyMissing: boolean): number[] {
  if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => classesIn(term, onlyMissing))
  const inner = pattern.inner ? classesIn(pattern.inner, onlyMissing && !pattern.negated) : []
  return onlyMissing ? inner : [pattern.slot, ...inner]
}

/** The one of some variables that all others lead to; undefined: they lead to different ones. */
function lastOf(variables: readonly Variable[], steps: readonly Step[]): Variable | undefined {
  const [first] = variables
  if (first === undefined || variables.some(({ slot }) => slot !== first.slot)) return undefined
  const last = variables.reduce((one, other) => ((other.step ?? -1) > (one.step ?? -1) ? other : one))
  const leading = new Set<number | undefined>([undefined])
  for (let at = last.step; at !== undefined; at = steps[at]?.parent) leading.add(at)
  return variables.every(({ step }) => leading.has(step)) ? last : undefined
}
