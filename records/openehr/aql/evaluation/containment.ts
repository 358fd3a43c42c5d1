import { isA } from '../../rm/classes.ts'
import type { ClassNode, Containment } from '../language/ast.ts'
import type { Forest, Node } from './forest.ts'
import { type Accepts, accepting } from './predicates.ts'

/** What FROM says, ready to be looked for; each class has a place of its own among what is bound. */
export type Pattern = { kind: 'and' | 'or'; terms: Pattern[] } | ClassPattern

export interface ClassPattern {
  kind: 'class'
  slot: number
  accepts(node: Node): boolean
  inner: Pattern | undefined
  negated: boolean
}

/** The nodes that the classes of FROM stand for, by their slots. */
export type Bound = (Node | undefined)[]

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

/** Where the nodes of a forest are that a class accepts. */
export function candidatesIn({ nodes }: Forest, { accepts }: ClassPattern): number[] {
  const candidates: number[] = []
  for (let i = 0; i < nodes.length; i++) if (accepts(nodes[i] as Node)) candidates.push(i)
  return candidates
}

/** The first of the ascending numbers that is not below `from`, by halves. */
export function firstFrom(numbers: readonly number[], from: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}
