import { equalityKey } from '../../terms/terms.ts'
import { type Bound, type ClassPattern, candidatesIn, firstFrom, type Pattern } from '../containment.ts'
import type { Forest, Node } from '../forest.ts'
import type { Getter, Joins, Row } from '../joins.ts'
import type { Equality, Variables } from './variables.ts'

/** What is known of a class of FROM in a forest. */
interface Known {
  /** Where the nodes are that it accepts. */
  candidates: readonly number[]
  /** Of each candidate, as far as it is known: in how many ways it may be there, with all that it contains. */
  ways: (number | undefined)[]
  /** Of each candidate, as far as it is known: whether it contains what it has to. */
  is: (boolean | undefined)[]
}

/** Counts in how many ways classes and steps can be bound in one forest; each node is looked at once. */
export class Counting {
  readonly #variables: Variables
  readonly #joins: Joins
  readonly #forest: Forest
  readonly #known: Known[] = []
  readonly #row: Row
  readonly #nothing: Row = { bound: [], values: [] }

  constructor(variables: Variables, joins: Joins, forest: Forest) {
    this.#variables = variables
    this.#joins = joins
    this.#forest = forest
    const bound: Bound = new Array(variables.slots).fill(undefined)
    this.#row = { bound, values: [] }
  }

  nodeAt(at: number): Node {
    return this.#forest.nodes[at] as Node
  }

  candidates(pattern: ClassPattern): readonly number[] {
    return this.#of(pattern).candidates
  }

  #of(pattern: ClassPattern): Known {
    let known = this.#known[pattern.slot]
    if (known === undefined) {
      known = { candidates: candidatesIn(this.#forest, pattern), ways: [], is: [] }
      this.#known[pattern.slot] = known
    }
    return known
  }

  /** In how many ways a pattern is there between two places, where conditions on single variables are true. */
  ways(pattern: Pattern, from: number, to: number): number {
    if (pattern.kind !== 'class')
      return this.product(pattern, from, to, {
        of: (term) => this.ways(term, from, to),
        without: (term) => this.waysWithout(term),
      })
    let ways = 0
    for (const i of this.#within(pattern, from, to)) ways += this.waysAt(pattern, i)
    return ways
  }

  /** Of an AND, and of an OR, each way of a term with each of the others; those of an OR that are not there leave theirs empty. */
  product(
    { kind, terms }: Exclude<Pattern, ClassPattern>,
    from: number,
    to: number,
    term: { of(term: Pattern): number; without(term: Pattern): number },
  ): number {
    let ways = 1
    let isAny = kind === 'and'
    for (const one of terms) {
      const is = kind === 'and' || this.is(one, from, to)
      isAny ||= is
      const factor = is ? term.of(one) : term.without(one)
      if (factor === 0) return 0
      ways *= factor
    }
    return isAny ? ways : 0
  }

  /** In how many ways a class is a certain candidate. */
  waysAt(pattern: ClassPattern, i: number): number {
    const { ways, candidates } = this.#of(pattern)
    const known = ways[i]
    if (known !== undefined) return known
    const at = candidates[i] as number
    const { slot } = pattern
    this.#row.bound[slot] = this.nodeAt(at)
    const own = this.#holds(slot, undefined, this.#row)
    const found = own ? this.#both(this.waysOf(this.#variables.stepsOf(slot), this.#row), pattern, at) : 0
    ways[i] = found
    return found
  }

  #both(steps: number, { inner, negated }: ClassPattern, at: number): number {
    if (inner === undefined || steps === 0) return steps
    const { end } = this.nodeAt(at)
    if (negated) return this.is(inner, at + 1, end) ? 0 : steps
    const ways = this.ways(inner, at + 1, end)
    return ways === 0 ? 0 : steps * ways
  }

  /** In how many ways steps can be taken, each with all that come behind it. */
  waysOf(steps: readonly number[], row: Row): number {
    let ways = 1
    for (const step of steps) {
      let sum = 0
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        if (this.#holds(this.#joins.slotOf(step), step, row))
          sum += this.waysOf(this.#variables.stepsBehind(step), row)
      }
      if (sum === 0) return 0
      ways *= sum
    }
    return ways
  }

  #holds(slot: number, step: number | undefined, row: Row): boolean {
    for (const { of } of this.#variables.filtersOf({ slot, step })) if (of(row) !== true) return false
    return true
  }

  /** In how many ways nothing is there, which conditions may rule out. */
  waysWithout(pattern: Pattern): number {
    if (pattern.kind !== 'class') return pattern.terms.every((term) => this.waysWithout(term) > 0) ? 1 : 0
    const { slot, inner, negated } = pattern
    const is = this.#holds(slot, undefined, this.#nothing)
    if (!is || this.waysOf(this.#variables.stepsOf(slot), this.#nothing) === 0) return 0
    return inner && !negated ? this.waysWithout(inner) : 1
  }

  /** Whether a pattern is there at all, whatever is true of it. */
  is(pattern: Pattern, from: number, to: number): boolean {
    if (pattern.kind !== 'class')
      return pattern.kind === 'and'
        ? pattern.terms.every((term) => this.is(term, from, to))
        : pattern.terms.some((term) => this.is(term, from, to))
    for (const i of this.#within(pattern, from, to)) if (this.#isAt(pattern, i)) return true
    return false
  }

  #isAt(pattern: ClassPattern, i: number): boolean {
    const { inner, negated } = pattern
    if (inner === undefined) return true
    const { is, candidates } = this.#of(pattern)
    const at = candidates[i] as number
    is[i] ??= this.is(inner, at + 1, this.nodeAt(at).end) !== negated
    return is[i] as boolean
  }

  /** Whether there is any way for a class. */
  isPossible(pattern: ClassPattern, from: number, to: number): boolean {
    for (const i of this.#within(pattern, from, to)) if (this.waysAt(pattern, i) > 0) return true
    return false
  }

  *#within(pattern: ClassPattern, from: number, to: number): Generator<number> {
    const { candidates } = this.#of(pattern)
    for (let i = firstFrom(candidates, from); i < candidates.length && (candidates[i] as number) < to; i++)
      yield i
  }

  /** The candidates of a class by what they, or those of a class in them, have to be equal to; of some it is not known. */
  byKey(pattern: ClassPattern, { of, own, steps }: Equality): Map<string | undefined, number[]> {
    const found = new Map<string | undefined, number[]>()
    const add = (key: string | undefined, i: number): void => {
      const known = found.get(key)
      if (known === undefined) found.set(key, [i])
      else if (known.at(-1) !== i) known.push(i)
    }
    const keys = this.candidates(of).map((at) => this.#keysAt(at, of.slot, own, steps))
    for (const [i, at] of this.candidates(pattern).entries()) {
      const inside = of === pattern ? [i] : this.#within(of, at + 1, this.nodeAt(at).end)
      for (const j of inside) for (const key of keys[j] ?? []) add(key, i)
    }
    return found
  }

  #keysAt(at: number, slot: number, own: Getter, steps: readonly number[]): Set<string | undefined> {
    const row = this.#row
    row.bound[slot] = this.nodeAt(at)
    const keys = new Set<string | undefined>()
    const take = (taken: number): void => {
      const step = steps[taken]
      if (step === undefined) {
        const term = own.of(row)
        if (term.value !== undefined && term.value !== null) keys.add(equalityKey(term))
        return
      }
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        take(taken + 1)
      }
    }
    take(0)
    return keys
  }

  /** The records that what is counted is of. */
  records(pattern: Pattern, into: Set<string>): void {
    if (pattern.kind !== 'class') {
      for (const term of pattern.terms) this.records(term, into)
      return
    }
    for (const [i, at] of this.candidates(pattern).entries()) {
      if (this.waysAt(pattern, i) === 0) continue
      const { record } = this.nodeAt(at)
      if (record !== undefined) into.add(record)
      else if (pattern.inner && !pattern.negated) this.records(pattern.inner, into)
    }
  }
}
