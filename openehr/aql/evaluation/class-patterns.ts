import { isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import type { ClassNode, Containment } from '../language/ast.ts'
import type { EhrTree, TreeNode } from './ehr-tree.ts'
import { createObjectTest, type ObjectTest } from './path-evaluator.ts'

/** The FROM clause, ready to match; each class has its own slot among the bound nodes. */
export type ContainmentPattern = { kind: 'and' | 'or'; terms: ContainmentPattern[] } | ClassPattern

export interface ClassPattern {
  kind: 'class'
  slot: number
  accepts(node: TreeNode): boolean
  inner: ContainmentPattern | undefined
  negated: boolean
}

/** The nodes bound to the classes of FROM, by slot. */
export type BoundNodes = (TreeNode | undefined)[]

export interface QueryPattern {
  pattern: ContainmentPattern
  slots: number
  /** The slots by the names of variables. */
  variables: Map<string, number>
}

/** The two names of the class VERSION. */
export const isVersionClass = (rmType: string): boolean =>
  rmType === 'VERSION' || rmType === 'ORIGINAL_VERSION'

export function buildQueryPattern(from: Containment): QueryPattern {
  const variables = new Map<string, number>()
  let slots = 0
  const compile = (containment: Containment, allVersions: boolean, inFolder: boolean): ContainmentPattern => {
    if (containment.kind !== 'class') {
      const terms = containment.terms.map((term) => compile(term, allVersions, inFolder))
      return { kind: containment.kind, terms }
    }
    const slot = slots++
    if (containment.variable !== undefined) variables.set(containment.variable, slot)
    const all = allVersions || containment.versions === 'all'
    const { contains } = containment
    const inner = contains && compile(contains.what, all, inFolder || containment.rmType === 'FOLDER')
    return {
      kind: 'class',
      slot,
      accepts: createNodeTest(containment, all, inFolder),
      inner,
      negated: contains?.negated ?? false,
    }
  }
  const pattern = compile(from, false, false)
  return { pattern, slots, variables }
}

function createNodeTest(
  { rmType, predicate }: ClassNode,
  allVersions: boolean,
  inFolder: boolean,
): (node: TreeNode) => boolean {
  const accepts: ObjectTest = predicate ? createObjectTest(predicate) : () => true
  const known = new Map<string, boolean>()
  const isOfClass = (type: string): boolean => {
    let is = known.get(type)
    if (is === undefined) {
      is = type === rmType || isSubclassOf(type, rmType) || (isVersionClass(rmType) && isVersionClass(type))
      known.set(type, is)
    }
    return is
  }
  return ({ object, latest, isReferred }) =>
    isOfClass(object._type) && (allVersions || latest) && (inFolder || !isReferred) && accepts(object)
}

/** The positions of the nodes in an EHR tree that a class accepts. */
export function findCandidates({ nodes }: EhrTree, { accepts }: ClassPattern): number[] {
  const candidates: number[] = []
  for (let i = 0; i < nodes.length; i++) if (accepts(nodes[i] as TreeNode)) candidates.push(i)
  return candidates
}

/** The index of the first number that is not below `from`, by binary search; the numbers are ascending. */
export function lowerBound(numbers: readonly number[], from: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}
