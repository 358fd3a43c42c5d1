import { ServiceError } from '../../../../../schemas/errors.ts'
import { equalityKey } from '../../terms/terms.ts'
import { type ClassPattern, firstFrom, type Pattern } from '../containment.ts'
import type { Forest, Node } from '../forest.ts'
import type { Joins, Row } from '../joins.ts'
import { Counting } from './counting.ts'
import type { Equality, Level, Variables } from './variables.ts'

/** A row, in how many ways it is there, and the records that it is of. */
export interface Found extends Row {
  times: number
  records(): Iterable<string>
}

/** Values that are tried one after the other until others have their turn. */
const TURN = 256

/** So many values of each object that is looked at are tried freely: what does not combine objects with each other needs no more. */
const FREE = 10

/** Values that one query tries beyond that; they take about a second. */
const MOST_TRIED = 2_000_000

/** What one query may combine. */
export class Effort {
  #left = MOST_TRIED

  /** @throws DeadlineExceeded */
  spend(tries: number): void {
    this.#left -= tries
    if (this.#left < 0) throw tooMany()
  }
}

const tooMany = (): ServiceError =>
  new ServiceError('DeadlineExceeded', {
    detail:
      'The query combines too much of what it finds: name archetypes and nodes of the classes beside each other in FROM, compare them in WHERE, or leave those out that nothing is asked of.',
  })

/** Lists the ways to bind a query in one forest, and counts what is not listed. */
export class Listing {
  readonly #variables: Variables
  readonly #joins: Joins
  readonly #counting: Counting
  readonly #forest: Forest
  readonly #effort: Effort
  readonly #found: Found
  /** Of each level: its values, where it is among them, and where they end. */
  readonly #values: (readonly unknown[])[] = []
  readonly #next: number[] = []
  readonly #end: number[] = []
  /** Of the classes: between which places they are looked for; nowhere, if they are not there. */
  readonly #from: (number | undefined)[] = []
  readonly #to: number[] = []
  readonly #among: boolean[] = []
  /** Of each level, which of its values are tried; undefined: each. */
  readonly #picked: (readonly number[] | undefined)[] = []
  readonly #byKey: (Map<string | undefined, number[]> | undefined)[] = []

  constructor(variables: Variables, joins: Joins, forest: Forest, effort: Effort) {
    this.#variables = variables
    this.#joins = joins
    this.#forest = forest
    this.#effort = effort
    this.#counting = new Counting(variables, joins, forest)
    const bound = new Array(variables.slots).fill(undefined)
    this.#found = { bound, values: [], times: 0, records: () => this.#records() }
  }

  /** @returns a generator that yields a row, always the same object, or undefined in between, where work may be interrupted */
  *rows(): Generator<Found | undefined> {
    const { levels, pattern, constants } = this.#variables
    const row = this.#found
    if (constants.some(({ of }) => of(row) !== true)) return
    const times = [this.#settle(pattern, 0, this.#forest.nodes.length, false)]
    if (times[0] === 0) return
    if (levels.length === 0) yield this.#counted(times[0] as number)
    else this.#open(0)
    let free = FREE * this.#forest.nodes.length
    let tries = 0
    for (let at = levels.length === 0 ? -1 : 0; at >= 0; ) {
      if ((this.#next[at] as number) >= (this.#end[at] as number)) {
        at--
        continue
      }
      if (++tries === TURN) {
        if (free >= TURN) free -= TURN
        else this.#effort.spend(TURN)
        tries = 0
        yield undefined
      }
      const factor = this.#take(levels[at] as Level, at)
      if (factor === 0) continue
      const ways = (times[at] as number) * factor
      if (at === levels.length - 1) yield this.#counted(ways)
      else {
        times[++at] = ways
        this.#open(at)
      }
    }
  }

  #counted(times: number): Found {
    if (times > Number.MAX_SAFE_INTEGER) throw tooMany()
    this.#found.times = times
    return this.#found
  }

  /** Begins with the values of a level. */
  #open(at: number): void {
    const { slot, step, pattern, equality } = this.#variables.levels[at] as Level
    if (pattern === undefined) {
      const members = this.#joins.members(step as number, this.#found)
      this.#values[at] = members
      this.#next[at] = 0
      this.#end[at] = members.length
      return
    }
    const from = this.#from[slot]
    const candidates = from === undefined ? [] : this.#counting.candidates(pattern)
    this.#values[at] = from === undefined ? [undefined] : candidates
    this.#next[at] = firstFrom(candidates, from ?? 0)
    this.#end[at] = from === undefined ? 1 : firstFrom(candidates, this.#to[slot] as number)
    this.#picked[at] = undefined
    if (equality && (this.#end[at] as number) - (this.#next[at] as number) > 1)
      this.#pick(at, pattern, equality)
  }

  /** Leaves out what is not equal to what has to be equal to it. */
  #pick(at: number, pattern: ClassPattern, equality: Equality): void {
    const term = equality.known.of(this.#found)
    const key = equalityKey(term)
    if (term.value === undefined || term.value === null) this.#end[at] = 0
    if (key === undefined) return
    this.#byKey[at] ??= this.#counting.byKey(pattern, equality)
    const byKey = this.#byKey[at]
    const [equal, unknown] = [byKey?.get(key) ?? [], byKey?.get(undefined) ?? []]
    const picked = unknown.length === 0 ? equal : [...new Set([...equal, ...unknown])].sort((a, b) => a - b)
    this.#picked[at] = picked
    this.#next[at] = firstFrom(picked, this.#next[at] as number)
    this.#end[at] = firstFrom(picked, this.#end[at] as number)
  }

  /** Takes the next value of a level. @returns in how many ways what is counted is there with it */
  #take({ slot, step, pattern, checks, counted }: Level, at: number): number {
    const next = this.#next[at] as number
    this.#next[at] = next + 1
    const i = this.#picked[at]?.[next] ?? next
    const value = (this.#values[at] as unknown[])[i]
    const row = this.#found
    let node: Node | undefined
    if (pattern === undefined) row.values[step as number] = value
    else {
      if (value !== undefined && this.#among[slot] && this.#counting.waysAt(pattern, i) === 0) return 0
      node = value === undefined ? undefined : this.#counting.nodeAt(value as number)
      row.bound[slot] = node
    }
    for (const { of } of checks) if (of(row) !== true) return 0
    const ways = counted.length === 0 ? 1 : this.#counting.waysOf(counted, row)
    if (ways === 0 || !node || !pattern?.inner) return ways
    const inside = this.#inside(pattern, value as number, node)
    return inside === 0 ? 0 : ways * inside
  }

  #inside({ inner, negated }: ClassPattern, at: number, { end }: Node): number {
    if (negated) return this.#counting.is(inner as Pattern, at + 1, end) ? 0 : 1
    return this.#settle(inner as Pattern, at + 1, end, false)
  }

  /** Says where what is listed of a pattern has to be. @returns in how many ways the rest of it is there */
  #settle(pattern: Pattern, from: number, to: number, isAmong: boolean): number {
    if (!this.#variables.isListed(pattern)) return this.#counting.ways(pattern, from, to)
    if (pattern.kind !== 'class')
      return this.#counting.product(pattern, from, to, {
        of: (term) => this.#settle(term, from, to, true),
        without: (term) => {
          this.#leaveOut(term)
          return this.#counting.waysWithout(term)
        },
      })
    const { slot } = pattern
    this.#from[slot] = from
    this.#to[slot] = to
    this.#among[slot] = isAmong
    return !isAmong || this.#counting.isPossible(pattern, from, to) ? 1 : 0
  }

  #leaveOut(pattern: Pattern): void {
    if (pattern.kind !== 'class') for (const term of pattern.terms) this.#leaveOut(term)
    else {
      this.#from[pattern.slot] = undefined
      if (pattern.inner) this.#leaveOut(pattern.inner)
    }
  }

  #records(): Set<string> {
    const found = new Set<string>()
    for (const node of this.#found.bound) if (node?.record !== undefined) found.add(node.record)
    for (const pattern of this.#outermostCounted(this.#variables.pattern))
      this.#counting.records(pattern, found)
    return found
  }

  /** What is counted right in the EHR: it may be of any record. */
  #outermostCounted(pattern: Pattern): Pattern[] {
    if (!this.#variables.isListed(pattern)) return [pattern]
    if (pattern.kind !== 'class') return pattern.terms.flatMap((term) => this.#outermostCounted(term))
    const { slot, inner, negated } = pattern
    const isEhr = this.#found.bound[slot]?.record === undefined
    return isEhr && inner && !negated ? this.#outermostCounted(inner) : []
  }
}
