import type { RmObject } from '../../rm/canonical.ts'
import type { Path, PathStep, Predicate } from '../language/ast.ts'
import { isObject, type Term } from '../terms/terms.ts'
import type { Bound } from './containment.ts'
import { type Accepts, accepting, membersOf, reaching } from './predicates.ts'

/** What a row is made of: the nodes of the classes, and what the steps of the paths have come to. */
export interface Row {
  bound: Bound
  values: unknown[]
}

/** What takes different values in different rows: a class of FROM, or a step from there. */
export interface Variable {
  slot: number
  step?: number | undefined
}

/** One step of the paths: equal beginnings are one step, so that what stands behind them belongs together. */
export interface Step {
  /** The class that it begins at. */
  slot: number
  /** The step before; undefined: it begins at the class itself. */
  parent: number | undefined
  /** Missing: the object itself, if the predicate accepts it. */
  attribute: string | undefined
  accepts: Accepts | undefined
}

/** An operand of a row, and what it is made of. */
export interface Getter {
  of(row: Row): Term
  about: readonly Variable[]
}

/** Two predicates are the same one wherever they stand in the text. */
const keyOf = (parent: number | undefined, slot: number, attribute = '', predicate?: Predicate): string =>
  JSON.stringify([parent ?? `v${slot}`, attribute, predicate], (name, value) =>
    name === 'at' ? undefined : value,
  )

/** The steps of all paths of a query. */
export class Joins {
  readonly steps: Step[] = []
  readonly #known = new Map<string, number>()
  readonly #variables: ReadonlyMap<string, number>

  constructor(variables: ReadonlyMap<string, number>) {
    this.#variables = variables
  }

  /** What a path comes to, as a step of its own and of all paths that begin in the same way. */
  path({ variable, predicate, parts }: Path): Getter {
    const slot = this.#variables.get(variable) as number
    let last: number | undefined
    if (predicate) last = this.#step(slot, undefined, undefined, predicate)
    for (const { attribute, predicate: which } of parts) last = this.#step(slot, last, attribute, which)
    return this.#getter(slot, last)
  }

  /**
   * Whether a path leads to anything: where it begins as other paths do, from what those have come to. To be asked for when
   * all others are there: it makes no rows.
   */
  exists({ variable, predicate, parts }: Path): { of(row: Row): boolean; about: readonly Variable[] } {
    const slot = this.#variables.get(variable) as number
    let last: number | undefined
    const rest: PathStep[] = []
    if (predicate) last = this.#known.get(keyOf(undefined, slot, undefined, predicate))
    const accepts = predicate && last === undefined ? accepting(predicate) : undefined
    for (const step of parts) {
      const key = keyOf(last, slot, step.attribute, step.predicate)
      const known = rest.length === 0 && !accepts ? this.#known.get(key) : undefined
      if (known === undefined) rest.push(step)
      else last = known
    }
    const { of, about } = this.#getter(slot, last)
    const reached = reaching(rest)
    return {
      about,
      of: (row) => {
        const { value } = of(row)
        if (accepts && !(isObject(value) && accepts(value))) return false
        return reached(value).some((term) => term.value !== undefined && term.value !== null)
      },
    }
  }

  #step(
    slot: number,
    parent: number | undefined,
    attribute: string | undefined,
    predicate: Predicate | undefined,
  ): number {
    const key = keyOf(parent, slot, attribute, predicate)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const accepts = predicate && accepting(predicate)
    this.#known.set(key, this.steps.length)
    return this.steps.push({ slot, parent, attribute, accepts }) - 1
  }

  #getter(slot: number, step: number | undefined): Getter {
    const about = [{ slot, step }]
    if (step === undefined) return { of: ({ bound }) => ({ value: bound[slot]?.object }), about }
    const { attribute } = this.steps[step] as Step
    const of = (row: Row): Term => ({
      value: row.values[step],
      holder: this.#holderOf(step, row) as RmObject | undefined,
      attribute,
    })
    return { of, about }
  }

  #holderOf(step: number, row: Row): unknown {
    const { parent, slot } = this.steps[step] as Step
    return parent === undefined ? row.bound[slot]?.object : row.values[parent]
  }

  slotOf(step: number): number {
    return (this.steps[step] as Step).slot
  }

  /** What a step leads to; what is missing is there once, as nothing. */
  members(step: number, row: Row): unknown[] {
    const { attribute, accepts } = this.steps[step] as Step
    const holder = this.#holderOf(step, row)
    if (attribute === undefined) return isObject(holder) && accepts?.(holder) ? [holder] : [undefined]
    const members = membersOf(holder, attribute, accepts)
    return members.length === 0 ? [undefined] : members
  }
}
