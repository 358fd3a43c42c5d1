import { isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import type { ClassNode, Containment, Predicate } from '../language/ast.ts'
import type { EhrTree, TreeNode } from './ehr-tree.ts'
import { constantValue, createObjectTest, type ObjectTest } from './path-evaluator.ts'

/** The FROM clause, ready to match; each class has its own slot among the bound nodes. */
export type ContainmentPattern = { kind: 'and' | 'or'; terms: ContainmentPattern[] } | ClassPattern

export interface ClassPattern {
  kind: 'class'
  slot: number
  accepts(node: TreeNode): boolean
  /** Whether its nodes belong to the same archetype as the node of the class that contains it. */
  isLocal: boolean
  inner: ContainmentPattern | undefined
  isNegated: boolean
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
  const compile = (containment: Containment, around: Surroundings): ContainmentPattern => {
    if (containment.kind !== 'class') {
      const terms = containment.terms.map((term) => compile(term, around))
      return { kind: containment.kind, terms }
    }
    const slot = slots++
    if (containment.variable !== undefined) variables.set(containment.variable, slot)
    const allVersions = around.allVersions || containment.versions === 'all'
    const { contains } = containment
    const inFolder = around.inFolder || containment.rmType === 'FOLDER'
    const inner = contains && compile(contains.containment, { allVersions, inFolder, container: containment })
    return {
      kind: 'class',
      slot,
      accepts: createNodeTest(containment, { ...around, allVersions }),
      isLocal: isLocalTo(around.container, containment),
      inner,
      isNegated: contains?.isNegated ?? false,
    }
  }
  const pattern = compile(from, { allVersions: false, inFolder: false })
  return { pattern, slots, variables }
}

/** The facts about a class that follow from those around it. */
interface Surroundings {
  allVersions: boolean
  inFolder: boolean
  /** The class that directly contains it. */
  container?: ClassNode
}

/**
 * An at-code is unique only within its archetype. So in a class that names an archetype, or a node of one, it
 * means a node of this archetype, and not of another one nested in it.
 */
const isLocalTo = (container: ClassNode | undefined, { predicate }: ClassNode): boolean =>
  container?.predicate !== undefined &&
  namesNode(container.predicate, () => true) &&
  predicate !== undefined &&
  namesNode(predicate, (id) => !isArchetypeId(id))

/** Whether all objects that a predicate accepts have such an id. */
function namesNode(predicate: Predicate, isWanted: (id: string) => boolean): boolean {
  switch (predicate.kind) {
    case 'and':
      return predicate.terms.some((term) => namesNode(term, isWanted))
    case 'or':
      return predicate.terms.every((term) => namesNode(term, isWanted))
    case 'node': {
      const id = constantValue(predicate.id)
      return typeof id === 'string' && isWanted(id)
    }
    default:
      return false
  }
}

const isArchetypeId = (id: unknown): boolean => typeof id === 'string' && id.startsWith('openEHR-')

/** Whether no archetype begins between a node and one of its descendants, this one included. */
export function isInSameArchetype({ nodes }: EhrTree, container: number, descendant: number): boolean {
  for (let i = container + 1; i <= descendant; ) {
    const { object, end } = nodes[i] as TreeNode
    if (end <= descendant) i = end
    else if (isArchetypeId(object.archetype_node_id)) return false
    else i++
  }
  return true
}

function createNodeTest(
  { rmType, predicate }: ClassNode,
  { allVersions, inFolder }: Surroundings,
): (node: TreeNode) => boolean {
  const accepts: ObjectTest = predicate ? createObjectTest(predicate) : () => true
  const cache = new Map<string, boolean>()
  const isOfClass = (type: string): boolean => {
    let isSubclass = cache.get(type)
    if (isSubclass === undefined) {
      isSubclass =
        type === rmType || isSubclassOf(type, rmType) || (isVersionClass(rmType) && isVersionClass(type))
      cache.set(type, isSubclass)
    }
    return isSubclass
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
export function lowerBound(numbers: readonly number[], lowest: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) < lowest) low = middle + 1
    else high = middle
  }
  return low
}
