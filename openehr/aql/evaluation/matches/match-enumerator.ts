import { ServiceError } from '../../../../schemas/errors.ts'
import type { StepBudget } from '../../terms/step-budget.ts'
import { equalityKey } from '../../terms/terms.ts'
import { type ClassPattern, type ContainmentPattern, lowerBound } from '../class-patterns.ts'
import type { EhrTree, TreeNode } from '../ehr-tree.ts'
import type { BindingRow, PathJoins } from '../path-joins.ts'
import { MatchCounter } from './match-counter.ts'
import type { EnumeratedVariable, JoinEquality, MatchVariables } from './match-variables.ts'

/** A row, the number of matches that it stands for, and their records. */
export interface PatternMatch extends BindingRow {
  times: number
  records(): Iterable<string>
}

/** A tree with more nodes is counted with pauses. */
const MANY_NODES = 1_000

/** Number of tried values after which the enumeration may pause. */
const TRIES_PER_SLICE = 256

/** Values per node that are free: a query that does not combine objects with each other needs no more. */
const FREE_TRIES_PER_NODE = 10

/** Values that one query may try beyond the free ones; they take about a second. */
const MAX_TRIES = 2_000_000

/** Limits the combinations of one query. */
export class TryBudget {
  #left = MAX_TRIES

  /** @throws DeadlineExceeded */
  consume(tries: number): void {
    this.#left -= tries
    if (this.#left < 0) throw tooManyCombinations()
  }
}

const tooManyCombinations = (): ServiceError =>
  new ServiceError('DeadlineExceeded', {
    detail:
      'The query combines too many nodes. Name archetypes and nodes in FROM, compare them in WHERE, or leave out classes that you do not use.',
  })

interface EnumerationBudgets {
  tries: TryBudget
  steps: StepBudget
}

/** Enumerates the matches of a query in one EHR tree; variables that no row needs are only counted. */
export class MatchEnumerator {
  readonly #variables: MatchVariables
  readonly #joins: PathJoins
  readonly #counter: MatchCounter
  readonly #tree: EhrTree
  readonly #budget: EnumerationBudgets
  readonly #match: PatternMatch
  /** For each level: its values, the index of the next one, and the end. */
  readonly #values: (readonly unknown[])[] = []
  readonly #next: number[] = []
  readonly #end: number[] = []
  /** For each class: the range of positions to search; undefined if the class must stay unbound. */
  readonly #from: (number | undefined)[] = []
  readonly #to: number[] = []
  readonly #among: boolean[] = []
  /** For each level: the indexes of the values to try; undefined: all. */
  readonly #picked: (readonly number[] | undefined)[] = []
  readonly #byKey: (Map<string | undefined, number[]> | undefined)[] = []

  constructor(variables: MatchVariables, joins: PathJoins, tree: EhrTree, budget: EnumerationBudgets) {
    this.#variables = variables
    this.#joins = joins
    this.#tree = tree
    this.#budget = budget
    this.#counter = new MatchCounter(variables, joins, tree)
    const bound = new Array(variables.slots).fill(undefined)
    this.#match = { bound, values: [], times: 0, records: () => this.#matchedRecords() }
  }

  /**
   * @returns a generator that yields rows, always in the same object, and undefined where evaluation may
   * pause
   */
  *enumerate(): Generator<PatternMatch | undefined> {
    const { levels, pattern, constants } = this.#variables
    const row = this.#match
    if (constants.some(({ evaluate: of }) => of(row) !== true)) return
    if (this.#tree.nodes.length > MANY_NODES) yield* this.#countInSteps(pattern)
    const times = [this.#setSearchRange(pattern, 0, this.#tree.nodes.length, false)]
    if (times[0] === 0) return
    if (levels.length === 0) yield this.#withCount(times[0] as number)
    else this.#openLevel(0)
    let free = FREE_TRIES_PER_NODE * this.#tree.nodes.length
    let tries = 0
    for (let at = levels.length === 0 ? -1 : 0; at >= 0; ) {
      if ((this.#next[at] as number) >= (this.#end[at] as number)) {
        at--
        continue
      }
      if (++tries === TRIES_PER_SLICE) {
        if (free >= TRIES_PER_SLICE) free -= TRIES_PER_SLICE
        else this.#budget.tries.consume(TRIES_PER_SLICE)
        tries = 0
        yield undefined
      }
      if (this.#budget.steps.isLow()) yield* this.#budget.steps.pause()
      const factor = this.#takeNextValue(levels[at] as EnumeratedVariable, at)
      if (factor === 0) continue
      const ways = (times[at] as number) * factor
      if (at === levels.length - 1) yield this.#withCount(ways)
      else {
        times[++at] = ways
        this.#openLevel(at)
      }
    }
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

  #withCount(times: number): PatternMatch {
    if (times > Number.MAX_SAFE_INTEGER) throw tooManyCombinations()
    this.#match.times = times
    return this.#match
  }

  /** Starts the enumeration of a level. */
  #openLevel(at: number): void {
    const { slot, step, pattern, equality } = this.#variables.levels[at] as EnumeratedVariable
    if (pattern === undefined) {
      const members = this.#joins.members(step as number, this.#match)
      this.#values[at] = members
      this.#next[at] = 0
      this.#end[at] = members.length
      return
    }
    const from = this.#from[slot]
    const candidates = from === undefined ? [] : this.#counter.candidates(pattern)
    this.#values[at] = from === undefined ? [undefined] : candidates
    this.#next[at] = lowerBound(candidates, from ?? 0)
    this.#end[at] = from === undefined ? 1 : lowerBound(candidates, this.#to[slot] as number)
    this.#picked[at] = undefined
    if (equality && (this.#end[at] as number) - (this.#next[at] as number) > 1)
      this.#filterByEquality(at, pattern, equality)
  }

  /** Skips values that cannot equal the already bound side of a join. */
  #filterByEquality(at: number, pattern: ClassPattern, equality: JoinEquality): void {
    const term = equality.knownOperand.getValue(this.#match)
    const key = equalityKey(term)
    if (term.value === undefined || term.value === null) this.#end[at] = 0
    if (key === undefined) return
    this.#byKey[at] ??= this.#counter.indexByKey(pattern, equality)
    const byKey = this.#byKey[at]
    const equal = byKey?.get(key) ?? []
    const unknown = byKey?.get(undefined) ?? []
    const picked = unknown.length === 0 ? equal : [...new Set([...equal, ...unknown])].sort((a, b) => a - b)
    this.#picked[at] = picked
    this.#next[at] = lowerBound(picked, this.#next[at] as number)
    this.#end[at] = lowerBound(picked, this.#end[at] as number)
  }

  /** Binds the next value of a level. @returns the number of counted matches with it */
  #takeNextValue({ slot, step, pattern, checks, countedSteps }: EnumeratedVariable, at: number): number {
    const next = this.#next[at] as number
    this.#next[at] = next + 1
    const i = this.#picked[at]?.[next] ?? next
    const value = (this.#values[at] as unknown[])[i]
    const row = this.#match
    let node: TreeNode | undefined
    if (pattern === undefined) row.values[step as number] = value
    else {
      if (value !== undefined && !this.#canBind(pattern, i, value as number)) return 0
      node = value === undefined ? undefined : this.#counter.nodeAt(value as number)
      row.bound[slot] = node
    }
    for (const { evaluate: of } of checks) if (of(row) !== true) return 0
    const ways = countedSteps.length === 0 ? 1 : this.#counter.countStepMatches(countedSteps, row)
    if (ways === 0 || !node || !pattern?.inner) return ways
    const inside = this.#countInside(pattern, value as number, node)
    return inside === 0 ? 0 : ways * inside
  }

  #canBind(pattern: ClassPattern, i: number, at: number): boolean {
    const { slot } = pattern
    if (!this.#counter.isAllowedWithin(pattern, (this.#from[slot] as number) - 1, at)) return false
    return !this.#among[slot] || this.#counter.countMatchesAt(pattern, i) > 0
  }

  #countInside({ inner, isNegated }: ClassPattern, at: number, { end }: TreeNode): number {
    if (isNegated) return this.#counter.is(inner as ContainmentPattern, at + 1, end) ? 0 : 1
    return this.#setSearchRange(inner as ContainmentPattern, at + 1, end, false)
  }

  /**
   * Sets the search ranges for the enumerated variables of a pattern.
   * @returns the number of matches of its counted part
   */
  #setSearchRange(pattern: ContainmentPattern, from: number, to: number, isAmong: boolean): number {
    if (!this.#variables.isEnumerated(pattern)) return this.#counter.ways(pattern, from, to)
    if (pattern.kind !== 'class')
      return this.#counter.product(pattern, from, to, {
        of: (term) => this.#setSearchRange(term, from, to, true),
        without: (term) => {
          this.#excludePattern(term)
          return this.#counter.countMatchesWithout(term)
        },
      })
    const { slot } = pattern
    this.#from[slot] = from
    this.#to[slot] = to
    this.#among[slot] = isAmong
    return !isAmong || this.#counter.canMatch(pattern, from, to) ? 1 : 0
  }

  #excludePattern(pattern: ContainmentPattern): void {
    if (pattern.kind !== 'class') for (const term of pattern.terms) this.#excludePattern(term)
    else {
      this.#from[pattern.slot] = undefined
      if (pattern.inner) this.#excludePattern(pattern.inner)
    }
  }

  #matchedRecords(): Set<string> {
    const keys = new Set<string>()
    for (const node of this.#match.bound) if (node?.record !== undefined) keys.add(node.record)
    for (const pattern of this.#outermostCounted(this.#variables.pattern))
      this.#counter.collectRecords(pattern, keys)
    return keys
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
