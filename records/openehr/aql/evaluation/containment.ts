import { isA } from '../../rm/classes.ts'
import type { ClassNode, Containment } from '../language/ast.ts'
import type { Forest, Node } from './forest.ts'
import { type Accepts, accepting } from './predicates.ts'

/** What FROM says, ready to be looked for; each class has a place of its own among what is bound. */
export type Pattern =
  | { kind: 'and' | 'or'; terms: Pattern[] }
  | {
      kind: 'class'
      slot: number
      accepts(node: Node): boolean
      inner: Pattern | undefined
      negated: boolean
    }

/** The nodes that the classes of FROM stand for, by their slots. */
export type Bound = (Node | undefined)[]

/** In order, so that the slots of variables are known. */
export interface Patterns {
  pattern: Pattern
  slots: number
  /** By the names of variables. */
  variables: Map<string, number>
}

/** The names that VERSION goes by. */
export const isVersion = (rmType: string): boolean => rmType === 'VERSION' || rmType === 'ORIGINAL_VERSION'

export function patternsOf(from: Containment): Patterns {
  const variables = new Map<string, number>()
  let slots = 0
  const compile = (containment: Containment, allVersions: boolean): Pattern => {
    if (containment.kind !== 'class')
      return { kind: containment.kind, terms: containment.terms.map((term) => compile(term, allVersions)) }
    const slot = slots++
    if (containment.variable !== undefined) variables.set(containment.variable, slot)
    const all = allVersions || containment.versions === 'all'
    const { contains } = containment
    const inner = contains && compile(contains.what, all)
    return {
      kind: 'class',
      slot,
      accepts: acceptingNode(containment, all),
      inner,
      negated: contains?.negated ?? false,
    }
  }
  const pattern = compile(from, false)
  return { pattern, slots, variables }
}

function acceptingNode({ rmType, predicate }: ClassNode, allVersions: boolean): (node: Node) => boolean {
  const accepts: Accepts = predicate ? accepting(predicate) : () => true
  const known = new Map<string, boolean>()
  const isOfClass = (type: string): boolean => {
    let is = known.get(type)
    if (is === undefined) {
      is = type === rmType || isA(type, rmType) || (isVersion(rmType) && isVersion(type))
      known.set(type, is)
    }
    return is
  }
  return ({ object, latest }) => isOfClass(object._type) && (allVersions || latest) && accepts(object)
}

/** Where the nodes are that a class accepts: found once for each forest. */
type Found = Map<Pattern, number[]>

/**
 * Binds the classes of FROM to nodes in all ways that there are.
 * @returns a generator that yields true each time that all are bound, and false in between, where work may be interrupted
 */
export const bindings = (pattern: Pattern, forest: Forest, bound: Bound): Generator<boolean> =>
  within(pattern, { forest, bound, found: new Map() }, 0, forest.nodes.length)

interface Search {
  forest: Forest
  bound: Bound
  found: Found
}

function within(pattern: Pattern, search: Search, from: number, to: number): Generator<boolean> {
  if (pattern.kind === 'class') return ofClass(pattern, search, from, to)
  return pattern.kind === 'and'
    ? together(pattern.terms, search, from, to)
    : either(pattern.terms, search, from, to)
}

function* ofClass(
  pattern: Extract<Pattern, { kind: 'class' }>,
  search: Search,
  from: number,
  to: number,
): Generator<boolean> {
  const { slot, inner, negated } = pattern
  const candidates = candidatesOf(pattern, search)
  for (let i = firstFrom(candidates, from); i < candidates.length; i++) {
    const at = candidates[i] as number
    if (at >= to) break
    const node = search.forest.nodes[at] as Node
    search.bound[slot] = node
    if (inner === undefined) yield true
    else if (!negated) yield* within(inner, search, at + 1, node.end)
    else if (!(yield* isAnywhere(inner, search, at + 1, node.end))) yield true
    yield false
  }
  search.bound[slot] = undefined
}

function candidatesOf(
  pattern: Extract<Pattern, { kind: 'class' }>,
  { forest: { nodes }, found }: Search,
): number[] {
  let candidates = found.get(pattern)
  if (candidates === undefined) {
    candidates = []
    for (let i = 0; i < nodes.length; i++) if (pattern.accepts(nodes[i] as Node)) candidates.push(i)
    found.set(pattern, candidates)
  }
  return candidates
}

/** The first of the ascending numbers that is not below `from`, by halves. */
function firstFrom(numbers: readonly number[], from: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether it can be bound there; interrupted as the rest is, and nothing stays bound. */
function* isAnywhere(
  pattern: Pattern,
  search: Search,
  from: number,
  to: number,
): Generator<boolean, boolean> {
  const bound = [...search.bound]
  for (const found of within(pattern, search, from, to)) {
    if (found) {
      search.bound.splice(0, bound.length, ...bound)
      return true
    }
    yield false
  }
  return false
}

/** Each way to bind one with each way to bind the others. */
function* together(terms: readonly Pattern[], search: Search, from: number, to: number): Generator<boolean> {
  const [first, ...rest] = terms
  if (first === undefined) {
    yield true
    return
  }
  for (const found of within(first, search, from, to)) {
    if (found) yield* together(rest, search, from, to)
    else yield false
  }
}

/** One of them has to be there; those that are not leave their variables empty. */
function* either(terms: readonly Pattern[], search: Search, from: number, to: number): Generator<boolean> {
  const there: Pattern[] = []
  for (const term of terms) if (yield* isAnywhere(term, search, from, to)) there.push(term)
  if (there.length > 0) yield* together(there, search, from, to)
}
