import { ServiceError } from '../../../../schemas/errors.ts'
import type { StepBudget } from '../../terms/step-budget.ts'
import { equalityKey } from '../../terms/terms.ts'
import { type ClassPattern, type ContainmentPattern, lowerBound } from '../class-patterns.ts'
import type { EhrTree, TreeNode } from '../ehr-tree.ts'
import type { BindingRow, PathJoins } from '../path-joins.ts'
import type { EnumeratedVariable, JoinEquality } from './enumerated-levels.ts'
import { MatchCounter } from './match-counter.ts'
import type { MatchVariables } from './match-variables.ts'

/** A row, the number of matches that it stands for, and their records. */
export interface PatternMatch extends BindingRow {
  count: number
  records(): Iterable<string>
}

/** A tree with more nodes is counted with pauses. */
const MANY_NODES = 1_000

/** Number of tried values after which the enumeration may pause. */
const VALUES_PER_SLICE = 256

/** Values per node that are free: a query that does not combine objects with each other needs no more. */
const FREE_VALUES_PER_NODE = 10

/** Values that one query may try beyond the free ones; they take about a second. */
const MAX_VALUES = 2_000_000

/** Limits the combinations of one query. */
export class CombinationBudget {
  #left = MAX_VALUES

  /** @throws DeadlineExceeded */
  consume(values: number): void {
    this.#left -= values
    if (this.#left < 0) throw tooManyCombinations()
  }
}

const tooManyCombinations = (): ServiceError =>
  new ServiceError('DeadlineExceeded', {
    detail:
      'The query combines too many nodes. Name archetypes and nodes in FROM, compare them in WHERE, or leave out classes that you do not use.',
  })

interface EnumerationBudgets {
  combinations: CombinationBudget
  steps: StepBudget
}

/** The values of an enumerated variable, given those of the levels before it. */
interface LevelState {
  /** The positions of nodes for a class, with undefined for an unbound one; the members for a step. */
  values: readonly unknown[]
  /** The next value, and the end: indexes of `candidates`, or of `values` without them. */
  next: number
  end: number
  /** The indexes of the values that can satisfy an equality; undefined: all. */
  candidates: readonly number[] | undefined
  indexesByKey: Map<string | undefined, number[]> | undefined
}

/** The positions at which a class is looked for. */
interface SlotRange {
  /** Undefined: the class stays unbound. */
  from: number | undefined
  to: number
  /** Whether it is a term of AND or OR: without a match of it, the other terms need not be tried. */
  isOneOfSeveral: boolean
}

/**
 * Enumerates the matches of a query in one EHR tree; variables that no row needs are only counted.
 *
 * Each enumerated variable is a level. A level takes one value after the other, and for each of them the next
 * level begins anew. Example: `SELECT o FROM EHR e CONTAINS OBSERVATION o CONTAINS ELEMENT m`, in a tree
 *
 *     0 EHR, 1 OBSERVATION, 2 ELEMENT, 3 ELEMENT, 4 OBSERVATION, 5 ELEMENT
 *
 * has the levels e and o. e takes the value 0, which sets the range of o to 1–6. o takes the values 1 and 4. m is
 * counted only: twice in 1, once in 4. So there are two matches, one of count 2 and one of count 1.
 */
export class MatchEnumerator {
  readonly #variables: MatchVariables
  readonly #joins: PathJoins
  readonly #counter: MatchCounter
  readonly #tree: EhrTree
  readonly #budget: EnumerationBudgets
  readonly #match: PatternMatch
  readonly #levels: readonly LevelState[]
  readonly #ranges: readonly SlotRange[]
  #freeValues: number
  /** The number of values tried since evaluation may have paused. */
  #triedValues = 0

  constructor(variables: MatchVariables, joins: PathJoins, tree: EhrTree, budget: EnumerationBudgets) {
    this.#variables = variables
    this.#joins = joins
    this.#tree = tree
    this.#budget = budget
    this.#counter = new MatchCounter(variables, joins, tree)
    const bound = new Array(variables.slots).fill(undefined)
    this.#match = { bound, values: [], count: 0, records: () => this.#matchedRecords() }
    this.#levels = variables.levels.map(createLevelState)
    this.#ranges = Array.from({ length: variables.slots }, createSlotRange)
    this.#freeValues = FREE_VALUES_PER_NODE * tree.nodes.length
  }

  /**
   * @returns a generator that yields rows, always in the same object, and undefined where evaluation may
   * pause
   */
  *enumerate(): Generator<PatternMatch | undefined> {
    const { levels, pattern, constants } = this.#variables
    if (constants.some((check) => check.evaluate(this.#match) !== true)) return
    if (this.#tree.nodes.length > MANY_NODES) yield* this.#countInSteps(pattern)
    const count = this.#setRanges(pattern, 0, this.#tree.nodes.length, false)
    if (count === 0) return
    if (levels.length === 0) {
      yield this.#withCount(count)
      return
    }
    /** The number of matches for the values of the levels before each one. */
    const countByLevel = [count]
    this.#openLevel(0)
    for (let level = 0; level >= 0; ) {
      const state = this.#levels[level] as LevelState
      if (state.next >= state.end) {
        level--
        continue
      }
      if (this.#isSliceOver()) yield undefined
      if (this.#budget.steps.isLow()) yield* this.#budget.steps.pause()
      const valueCount = this.#takeNextValue(levels[level] as EnumeratedVariable, state)
      if (valueCount === 0) continue
      const matchCount = (countByLevel[level] as number) * valueCount
      if (level === levels.length - 1) yield this.#withCount(matchCount)
      else {
        countByLevel[++level] = matchCount
        this.#openLevel(level)
      }
    }
  }

  /** Counts a tried value. @returns whether evaluation may pause @throws DeadlineExceeded */
  #isSliceOver(): boolean {
    if (++this.#triedValues < VALUES_PER_SLICE) return false
    if (this.#freeValues >= VALUES_PER_SLICE) this.#freeValues -= VALUES_PER_SLICE
    else this.#budget.combinations.consume(VALUES_PER_SLICE)
    this.#triedValues = 0
    return true
  }

  /** Counts the innermost classes first, so that no count of an outer class takes long. */
  *#countInSteps(pattern: ContainmentPattern): Generator<undefined> {
    if (pattern.kind !== 'class') {
      for (const term of pattern.terms) yield* this.#countInSteps(term)
      return
    }
    if (pattern.inner && !pattern.isNegated) yield* this.#countInSteps(pattern.inner)
    if (this.#variables.isEnumerated(pattern)) return
    for (const i of this.#counter.candidates(pattern).keys()) {
      this.#counter.countMatchesAt(pattern, i)
      if (this.#budget.steps.isLow()) yield* this.#budget.steps.pause()
    }
  }

  #withCount(count: number): PatternMatch {
    if (count > Number.MAX_SAFE_INTEGER) throw tooManyCombinations()
    this.#match.count = count
    return this.#match
  }

  /** Starts the enumeration of a level. */
  #openLevel(level: number): void {
    const { slot, step, pattern, equality } = this.#variables.levels[level] as EnumeratedVariable
    const state = this.#levels[level] as LevelState
    if (pattern === undefined) {
      state.values = this.#joins.members(step as number, this.#match)
      state.next = 0
      state.end = state.values.length
      return
    }
    const { from, to } = this.#ranges[slot] as SlotRange
    state.candidates = undefined
    if (from === undefined) {
      state.values = UNBOUND
      state.next = 0
      state.end = 1
      return
    }
    const positions = this.#counter.candidates(pattern)
    state.values = positions
    state.next = lowerBound(positions, from)
    state.end = lowerBound(positions, to)
    if (equality && state.end - state.next > 1) this.#filterByEquality(state, pattern, equality)
  }

  /** Skips values that cannot equal the already bound side of a join. */
  #filterByEquality(state: LevelState, pattern: ClassPattern, equality: JoinEquality): void {
    const term = equality.knownOperand.getValue(this.#match)
    const key = equalityKey(term)
    if (term.value === undefined || term.value === null) state.end = 0
    if (key === undefined) return
    state.indexesByKey ??= this.#counter.indexByKey(pattern, equality)
    const equal = state.indexesByKey.get(key) ?? []
    const unknown = state.indexesByKey.get(undefined) ?? []
    const candidates =
      unknown.length === 0 ? equal : [...new Set([...equal, ...unknown])].sort((a, b) => a - b)
    state.candidates = candidates
    state.next = lowerBound(candidates, state.next)
    state.end = lowerBound(candidates, state.end)
  }

  /** Binds the next value of a level. @returns the number of counted matches with it */
  #takeNextValue(variable: EnumeratedVariable, state: LevelState): number {
    const { slot, step, pattern, checks, countedSteps } = variable
    const next = state.next++
    const i = state.candidates?.[next] ?? next
    const value = state.values[i]
    const row = this.#match
    let node: TreeNode | undefined
    if (pattern === undefined) row.values[step as number] = value
    else {
      if (value !== undefined && !this.#canBind(pattern, i, value as number)) return 0
      node = value === undefined ? undefined : this.#counter.nodeAt(value as number)
      row.bound[slot] = node
    }
    for (const check of checks) if (check.evaluate(row) !== true) return 0
    const stepCount = countedSteps.length === 0 ? 1 : this.#counter.countStepMatches(countedSteps, row)
    if (stepCount === 0 || !node || !pattern?.inner) return stepCount
    const countInside = this.#countInside(pattern, value as number, node)
    return countInside === 0 ? 0 : stepCount * countInside
  }

  #canBind(pattern: ClassPattern, i: number, position: number): boolean {
    const { from, isOneOfSeveral } = this.#ranges[pattern.slot] as SlotRange
    if (!this.#counter.isAllowedWithin(pattern, (from as number) - 1, position)) return false
    return !isOneOfSeveral || this.#counter.countMatchesAt(pattern, i) > 0
  }

  #countInside({ inner, isNegated }: ClassPattern, position: number, { end }: TreeNode): number {
    if (isNegated) return this.#counter.occurs(inner as ContainmentPattern, position + 1, end) ? 0 : 1
    return this.#setRanges(inner as ContainmentPattern, position + 1, end, false)
  }

  /**
   * Sets the ranges of the enumerated classes that a pattern has outermost.
   * @returns the number of matches of its counted part
   */
  #setRanges(pattern: ContainmentPattern, from: number, to: number, isOneOfSeveral: boolean): number {
    if (!this.#variables.isEnumerated(pattern)) return this.#counter.countMatches(pattern, from, to)
    if (pattern.kind !== 'class')
      return this.#counter.multiplyTerms(pattern, from, to, {
        countBound: (term) => this.#setRanges(term, from, to, true),
        countUnbound: (term) => {
          this.#excludePattern(term)
          return this.#counter.countMatchesWithout(term)
        },
      })
    const range = this.#ranges[pattern.slot] as SlotRange
    range.from = from
    range.to = to
    range.isOneOfSeveral = isOneOfSeveral
    return !isOneOfSeveral || this.#counter.canMatch(pattern, from, to) ? 1 : 0
  }

  #excludePattern(pattern: ContainmentPattern): void {
    if (pattern.kind !== 'class') for (const term of pattern.terms) this.#excludePattern(term)
    else {
      const range = this.#ranges[pattern.slot] as SlotRange
      range.from = undefined
      if (pattern.inner) this.#excludePattern(pattern.inner)
    }
  }

  #matchedRecords(): Set<string> {
    const records = new Set<string>()
    for (const node of this.#match.bound) if (node?.record !== undefined) records.add(node.record)
    for (const pattern of this.#outermostCounted(this.#variables.pattern))
      this.#counter.collectRecords(pattern, records)
    return records
  }

  /** The counted patterns directly below the EHR: their matches may come from any record. */
  #outermostCounted(pattern: ContainmentPattern): ContainmentPattern[] {
    if (!this.#variables.isEnumerated(pattern)) return [pattern]
    if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => this.#outermostCounted(term))
    const { slot, inner, isNegated } = pattern
    const isEhr = this.#match.bound[slot]?.record === undefined
    return isEhr && inner && !isNegated ? this.#outermostCounted(inner) : []
  }
}

/** The only value of a class that stays unbound. */
const UNBOUND = [undefined]

const createLevelState = (): LevelState => ({
  values: [],
  next: 0,
  end: 0,
  candidates: undefined,
  indexesByKey: undefined,
})

const createSlotRange = (): SlotRange => ({ from: undefined, to: 0, isOneOfSeveral: false })
