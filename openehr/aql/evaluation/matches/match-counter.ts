import { equalityKey } from '../../terms/terms.ts'
import {
  type BoundNodes,
  type ClassPattern,
  type ContainmentPattern,
  findCandidates,
  isInSameArchetype,
  lowerBound,
} from '../class-patterns.ts'
import type { EhrTree, TreeNode } from '../ehr-tree.ts'
import type { BindingRow, OperandGetter, PathJoins } from '../path-joins.ts'
import type { JoinEquality, MatchVariables } from './match-variables.ts'

/** Counts of a class of FROM in an EHR tree, computed on demand. */
interface ClassCounts {
  /** The positions of the nodes that the class accepts. */
  candidates: readonly number[]
  /**
   * For each candidate, once computed: the number of matches with it, including everything that it contains.
   */
  ways: (number | undefined)[]
  /** For each candidate, once computed: whether it contains what CONTAINS demands. */
  is: (boolean | undefined)[]
}

/** Counts the matches of classes and path steps in one EHR tree; computes each node once. */
export class MatchCounter {
  readonly #variables: MatchVariables
  readonly #joins: PathJoins
  readonly #tree: EhrTree
  readonly #known: ClassCounts[] = []
  readonly #row: BindingRow
  readonly #emptyRow: BindingRow = { bound: [], values: [] }

  constructor(variables: MatchVariables, joins: PathJoins, tree: EhrTree) {
    this.#variables = variables
    this.#joins = joins
    this.#tree = tree
    const bound: BoundNodes = new Array(variables.slots).fill(undefined)
    this.#row = { bound, values: [] }
  }

  nodeAt(at: number): TreeNode {
    return this.#tree.nodes[at] as TreeNode
  }

  candidates(pattern: ClassPattern): readonly number[] {
    return this.#countsOf(pattern).candidates
  }

  #countsOf(pattern: ClassPattern): ClassCounts {
    let counts = this.#known[pattern.slot]
    if (counts === undefined) {
      counts = { candidates: findCandidates(this.#tree, pattern), ways: [], is: [] }
      this.#known[pattern.slot] = counts
    }
    return counts
  }

  /**
   * Counts the matches of a pattern between two positions that satisfy the conditions on single variables.
   */
  ways(pattern: ContainmentPattern, from: number, to: number): number {
    if (pattern.kind !== 'class')
      return this.product(pattern, from, to, {
        of: (term) => this.ways(term, from, to),
        without: (term) => this.countMatchesWithout(term),
      })
    let ways = 0
    for (const i of this.#candidatesWithin(pattern, from, to)) ways += this.countMatchesAt(pattern, i)
    return ways
  }

  /**
   * Multiplies the counts of the terms of an AND or OR. A term of an OR that does not occur leaves its
   * variables empty.
   */
  product(
    { kind, terms }: Exclude<ContainmentPattern, ClassPattern>,
    from: number,
    to: number,
    term: { of(term: ContainmentPattern): number; without(term: ContainmentPattern): number },
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

  /** Counts the matches in which a class is bound to this candidate. */
  countMatchesAt(pattern: ClassPattern, i: number): number {
    const { ways, candidates } = this.#countsOf(pattern)
    const cachedCount = ways[i]
    if (cachedCount !== undefined) return cachedCount
    const at = candidates[i] as number
    const { slot } = pattern
    this.#row.bound[slot] = this.nodeAt(at)
    const own = this.#holds(slot, undefined, this.#row)
    const matches = own
      ? this.#both(this.countStepMatches(this.#variables.stepsOf(slot), this.#row), pattern, at)
      : 0
    ways[i] = matches
    return matches
  }

  #both(steps: number, { inner, isNegated }: ClassPattern, at: number): number {
    if (inner === undefined || steps === 0) return steps
    const { end } = this.nodeAt(at)
    if (isNegated) return this.is(inner, at + 1, end) ? 0 : steps
    const ways = this.ways(inner, at + 1, end)
    return ways === 0 ? 0 : steps * ways
  }

  /** Counts the matches of path steps, each including the steps that follow it. */
  countStepMatches(steps: readonly number[], row: BindingRow): number {
    let ways = 1
    for (const step of steps) {
      let sum = 0
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        if (this.#holds(this.#joins.slotOf(step), step, row))
          sum += this.countStepMatches(this.#variables.stepsBehind(step), row)
      }
      if (sum === 0) return 0
      ways *= sum
    }
    return ways
  }

  #holds(slot: number, step: number | undefined, row: BindingRow): boolean {
    for (const { evaluate: of } of this.#variables.filtersOf({ slot, step }))
      if (of(row) !== true) return false
    return true
  }

  /** 1 if a pattern may be left unbound, 0 if conditions rule that out. */
  countMatchesWithout(pattern: ContainmentPattern): number {
    if (pattern.kind !== 'class')
      return pattern.terms.every((term) => this.countMatchesWithout(term) > 0) ? 1 : 0
    const { slot, inner, isNegated } = pattern
    const is = this.#holds(slot, undefined, this.#emptyRow)
    if (!is || this.countStepMatches(this.#variables.stepsOf(slot), this.#emptyRow) === 0) return 0
    return inner && !isNegated ? this.countMatchesWithout(inner) : 1
  }

  /** Whether a pattern occurs, regardless of conditions. */
  is(pattern: ContainmentPattern, from: number, to: number): boolean {
    if (pattern.kind !== 'class')
      return pattern.kind === 'and'
        ? pattern.terms.every((term) => this.is(term, from, to))
        : pattern.terms.some((term) => this.is(term, from, to))
    for (const i of this.#candidatesWithin(pattern, from, to)) if (this.#hasMatchAt(pattern, i)) return true
    return false
  }

  #hasMatchAt(pattern: ClassPattern, i: number): boolean {
    const { inner, isNegated } = pattern
    if (inner === undefined) return true
    const { is, candidates } = this.#countsOf(pattern)
    const at = candidates[i] as number
    is[i] ??= this.is(inner, at + 1, this.nodeAt(at).end) !== isNegated
    return is[i] as boolean
  }

  /** Whether a class has any match. */
  canMatch(pattern: ClassPattern, from: number, to: number): boolean {
    for (const i of this.#candidatesWithin(pattern, from, to))
      if (this.countMatchesAt(pattern, i) > 0) return true
    return false
  }

  /** The candidates of a class directly inside the node before `from`, in terms of FROM. */
  *#candidatesWithin(pattern: ClassPattern, from: number, to: number): Generator<number> {
    for (const i of this.#candidatesBetween(pattern, from, to))
      if (this.isAllowedWithin(pattern, from - 1, this.candidates(pattern)[i] as number)) yield i
  }

  *#candidatesBetween(pattern: ClassPattern, from: number, to: number): Generator<number> {
    const { candidates } = this.#countsOf(pattern)
    for (let i = lowerBound(candidates, from); i < candidates.length && (candidates[i] as number) < to; i++)
      yield i
  }

  /** Whether a node may be bound to a class, given the node bound to the class that contains it. */
  isAllowedWithin({ isLocal }: ClassPattern, container: number, at: number): boolean {
    return !isLocal || isInSameArchetype(this.#tree, container, at)
  }

  /**
   * The candidates of a class by the equality key of the joined value, in them or in a class inside them. The
   * key undefined stands for values whose key is unknown.
   */
  indexByKey(
    pattern: ClassPattern,
    { joinedClass: of, joinedOperand: own, steps }: JoinEquality,
  ): Map<string | undefined, number[]> {
    const slotsByVariable = new Map<string | undefined, number[]>()
    const add = (key: string | undefined, i: number): void => {
      const indexes = slotsByVariable.get(key)
      if (indexes === undefined) slotsByVariable.set(key, [i])
      else if (indexes.at(-1) !== i) indexes.push(i)
    }
    const keys = this.candidates(of).map((at) => this.#keysAt(at, of.slot, own, steps))
    for (const [i, at] of this.candidates(pattern).entries()) {
      const inside = of === pattern ? [i] : this.#candidatesBetween(of, at + 1, this.nodeAt(at).end)
      for (const j of inside) for (const key of keys[j] ?? []) add(key, i)
    }
    return slotsByVariable
  }

  #keysAt(at: number, slot: number, own: OperandGetter, steps: readonly number[]): Set<string | undefined> {
    const row = this.#row
    row.bound[slot] = this.nodeAt(at)
    const keys = new Set<string | undefined>()
    const take = (stepIndex: number): void => {
      const step = steps[stepIndex]
      if (step === undefined) {
        const term = own.getValue(row)
        if (term.value !== undefined && term.value !== null) keys.add(equalityKey(term))
        return
      }
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        take(stepIndex + 1)
      }
    }
    take(0)
    return keys
  }

  /** Collects the records of the counted matches. */
  collectRecords(pattern: ContainmentPattern, into: Set<string>): void {
    if (pattern.kind !== 'class') {
      for (const term of pattern.terms) this.collectRecords(term, into)
      return
    }
    for (const [i, at] of this.candidates(pattern).entries()) {
      if (this.countMatchesAt(pattern, i) === 0) continue
      const { record } = this.nodeAt(at)
      if (record !== undefined) into.add(record)
      else if (pattern.inner && !pattern.isNegated) this.collectRecords(pattern.inner, into)
    }
  }
}
