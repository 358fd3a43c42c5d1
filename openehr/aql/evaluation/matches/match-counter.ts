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
import type { JoinEquality } from './enumerated-levels.ts'
import type { MatchVariables } from './match-variables.ts'

/** Counts of a class of FROM in an EHR tree, computed on demand. */
interface ClassCounts {
  /** The positions of the nodes that the class accepts. */
  candidates: readonly number[]
  /** For each candidate, once computed: the number of matches with it, including everything that it contains. */
  matchCounts: (number | undefined)[]
  /** For each candidate, once computed: whether it contains what CONTAINS demands. */
  occurrences: (boolean | undefined)[]
}

/** How to count the matches of a term of AND and OR. */
interface TermCounts {
  countBound(term: ContainmentPattern): number
  countUnbound(term: ContainmentPattern): number
}

/**
 * Counts the matches of classes and path steps in one EHR tree; computes each node once.
 *
 * A range (`from`, `to`) of positions means the nodes inside the one before `from`. The index of a candidate is
 * that among the nodes that its class accepts. Example: `OBSERVATION o CONTAINS ELEMENT e` in a tree
 *
 *     0 EHR, 1 COMPOSITION, 2 OBSERVATION, 3 ELEMENT, 4 ELEMENT, 5 OBSERVATION
 *
 * has the candidates [2, 5] of o and [3, 4] of e. Two matches have the candidate 0 of o, none has its candidate 1,
 * so that o has 2 matches in the range from 1 to 6.
 */
export class MatchCounter {
  readonly #variables: MatchVariables
  readonly #joins: PathJoins
  readonly #tree: EhrTree
  readonly #countsBySlot: ClassCounts[] = []
  readonly #row: BindingRow
  readonly #emptyRow: BindingRow = { bound: [], values: [] }

  constructor(variables: MatchVariables, joins: PathJoins, tree: EhrTree) {
    this.#variables = variables
    this.#joins = joins
    this.#tree = tree
    const bound: BoundNodes = new Array(variables.slots).fill(undefined)
    this.#row = { bound, values: [] }
  }

  nodeAt(position: number): TreeNode {
    return this.#tree.nodes[position] as TreeNode
  }

  candidates(pattern: ClassPattern): readonly number[] {
    return this.#countsOf(pattern).candidates
  }

  #countsOf(pattern: ClassPattern): ClassCounts {
    let counts = this.#countsBySlot[pattern.slot]
    if (counts === undefined) {
      counts = { candidates: findCandidates(this.#tree, pattern), matchCounts: [], occurrences: [] }
      this.#countsBySlot[pattern.slot] = counts
    }
    return counts
  }

  /** Counts the matches of a pattern in a range that satisfy the conditions on single variables. */
  countMatches(pattern: ContainmentPattern, from: number, to: number): number {
    if (pattern.kind !== 'class')
      return this.multiplyTerms(pattern, from, to, {
        countBound: (term) => this.countMatches(term, from, to),
        countUnbound: (term) => this.countMatchesWithout(term),
      })
    let matchCount = 0
    for (const i of this.#candidatesWithin(pattern, from, to)) matchCount += this.countMatchesAt(pattern, i)
    return matchCount
  }

  /**
   * Multiplies the counts of the terms of an AND or OR. A term of an OR that does not occur leaves its
   * variables unbound.
   */
  multiplyTerms(
    { kind, terms }: Exclude<ContainmentPattern, ClassPattern>,
    from: number,
    to: number,
    counts: TermCounts,
  ): number {
    let matchCount = 1
    let isAny = kind === 'and'
    for (const term of terms) {
      const occurs = kind === 'and' || this.occurs(term, from, to)
      isAny ||= occurs
      const termCount = occurs ? counts.countBound(term) : counts.countUnbound(term)
      if (termCount === 0) return 0
      matchCount *= termCount
    }
    return isAny ? matchCount : 0
  }

  /** Counts the matches in which a class is bound to the candidate with this index. */
  countMatchesAt(pattern: ClassPattern, i: number): number {
    const { matchCounts, candidates } = this.#countsOf(pattern)
    const cachedCount = matchCounts[i]
    if (cachedCount !== undefined) return cachedCount
    const position = candidates[i] as number
    const { slot } = pattern
    this.#row.bound[slot] = this.nodeAt(position)
    const holdsForSlot = this.#holds(slot, undefined, this.#row)
    const matchCount = holdsForSlot
      ? this.#countInside(this.countStepMatches(this.#variables.stepsOf(slot), this.#row), pattern, position)
      : 0
    matchCounts[i] = matchCount
    return matchCount
  }

  /** Multiplies the count of the steps of a class by that of the matches inside its node. */
  #countInside(stepCount: number, { inner, isNegated }: ClassPattern, position: number): number {
    if (inner === undefined || stepCount === 0) return stepCount
    const { end } = this.nodeAt(position)
    if (isNegated) return this.occurs(inner, position + 1, end) ? 0 : stepCount
    const matchCount = this.countMatches(inner, position + 1, end)
    return matchCount === 0 ? 0 : stepCount * matchCount
  }

  /** Counts the matches of path steps, each including the steps that follow it. */
  countStepMatches(steps: readonly number[], row: BindingRow): number {
    let matchCount = 1
    for (const step of steps) {
      let sum = 0
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        if (this.#holds(this.#joins.slotOf(step), step, row))
          sum += this.countStepMatches(this.#variables.stepsAfter(step), row)
      }
      if (sum === 0) return 0
      matchCount *= sum
    }
    return matchCount
  }

  #holds(slot: number, step: number | undefined, row: BindingRow): boolean {
    for (const check of this.#variables.filtersOf({ slot, step }))
      if (check.evaluate(row) !== true) return false
    return true
  }

  /** 1 if a pattern may be left unbound, 0 if conditions rule that out. */
  countMatchesWithout(pattern: ContainmentPattern): number {
    if (pattern.kind !== 'class')
      return pattern.terms.every((term) => this.countMatchesWithout(term) > 0) ? 1 : 0
    const { slot, inner, isNegated } = pattern
    if (!this.#holds(slot, undefined, this.#emptyRow)) return 0
    if (this.countStepMatches(this.#variables.stepsOf(slot), this.#emptyRow) === 0) return 0
    return inner && !isNegated ? this.countMatchesWithout(inner) : 1
  }

  /** Whether a pattern occurs in a range, regardless of conditions. */
  occurs(pattern: ContainmentPattern, from: number, to: number): boolean {
    if (pattern.kind !== 'class')
      return pattern.kind === 'and'
        ? pattern.terms.every((term) => this.occurs(term, from, to))
        : pattern.terms.some((term) => this.occurs(term, from, to))
    for (const i of this.#candidatesWithin(pattern, from, to)) if (this.#occursAt(pattern, i)) return true
    return false
  }

  #occursAt(pattern: ClassPattern, i: number): boolean {
    const { inner, isNegated } = pattern
    if (inner === undefined) return true
    const { occurrences, candidates } = this.#countsOf(pattern)
    const position = candidates[i] as number
    occurrences[i] ??= this.occurs(inner, position + 1, this.nodeAt(position).end) !== isNegated
    return occurrences[i] as boolean
  }

  /** Whether a class has any match in a range. */
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
  isAllowedWithin({ isLocal }: ClassPattern, container: number, position: number): boolean {
    return !isLocal || isInSameArchetype(this.#tree, container, position)
  }

  /**
   * The indexes of a class's candidates by the equality key of the joined value, in them or in a class inside
   * them. The key undefined stands for values whose key is unknown.
   */
  indexByKey(pattern: ClassPattern, equality: JoinEquality): Map<string | undefined, number[]> {
    const { joinedClass } = equality
    const indexesByKey = new Map<string | undefined, number[]>()
    const add = (key: string | undefined, i: number): void => {
      const indexes = indexesByKey.get(key)
      if (indexes === undefined) indexesByKey.set(key, [i])
      else if (indexes.at(-1) !== i) indexes.push(i)
    }
    const keys = this.candidates(joinedClass).map((position) => this.#keysAt(position, equality))
    for (const [i, position] of this.candidates(pattern).entries()) {
      const inside =
        joinedClass === pattern
          ? [i]
          : this.#candidatesBetween(joinedClass, position + 1, this.nodeAt(position).end)
      for (const j of inside) for (const key of keys[j] ?? []) add(key, i)
    }
    return indexesByKey
  }

  /** The keys of the joined values in one node of the joined class. */
  #keysAt(position: number, { joinedClass, joinedOperand, steps }: JoinEquality): Set<string | undefined> {
    const row = this.#row
    row.bound[joinedClass.slot] = this.nodeAt(position)
    const keys = new Set<string | undefined>()
    const addKeys = (stepIndex: number): void => {
      const step = steps[stepIndex]
      if (step === undefined) {
        addKey(keys, joinedOperand, row)
        return
      }
      for (const member of this.#joins.members(step, row)) {
        row.values[step] = member
        addKeys(stepIndex + 1)
      }
    }
    addKeys(0)
    return keys
  }

  /** Collects the records of the counted matches. */
  collectRecords(pattern: ContainmentPattern, records: Set<string>): void {
    if (pattern.kind !== 'class') {
      for (const term of pattern.terms) this.collectRecords(term, records)
      return
    }
    for (const [i, position] of this.candidates(pattern).entries()) {
      if (this.countMatchesAt(pattern, i) === 0) continue
      const { record } = this.nodeAt(position)
      if (record !== undefined) records.add(record)
      else if (pattern.inner && !pattern.isNegated) this.collectRecords(pattern.inner, records)
    }
  }
}

function addKey(keys: Set<string | undefined>, operand: OperandGetter, row: BindingRow): void {
  const term = operand.getValue(row)
  if (term.value !== undefined && term.value !== null) keys.add(equalityKey(term))
}
