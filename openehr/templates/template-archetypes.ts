import { type Static, Type } from '@sinclair/typebox'
import { isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import type { ArchetypeNode } from '../../schemas/openehr/template.ts'
import {
  type Code,
  findCodeTerm,
  findTerm,
  type Interval,
  labelOf,
  type ObjectConstraint,
  type Template,
  walkNodes,
} from '../opt/constraints.ts'

/** An archetype in a template. */
export const ArchetypeUse = Type.Object({ id: Type.String(), concept: Type.String(), rmType: Type.String() })

export interface Archetype extends Static<typeof ArchetypeUse> {
  /** The ids of the templates that use it. */
  templates: string[]
}

/** The archetypes in a template, each once. */
export function archetypesOfTemplate(template: Template): Static<typeof ArchetypeUse>[] {
  const uses = new Map<string, Static<typeof ArchetypeUse>>()
  for (const node of walkNodes(template.root)) {
    const { isRoot, rmType, archetype } = node
    if (!isRoot || uses.has(archetype.id)) continue
    uses.set(archetype.id, { id: archetype.id, concept: findTerm(node, 'at0000')?.text ?? '', rmType })
  }
  return [...uses.values()]
}

/** The nodes of an archetype, from a template or from its ADL, and their number. */
export function archetypeTree(
  template: Pick<Template, 'root'>,
  archetypeId: string,
): { tree: ArchetypeNode | undefined; size: number } {
  for (const node of walkNodes(template.root)) {
    if (!node.isRoot || node.archetype.id !== archetypeId) continue
    let size = 0
    const tree = toArchetypeNode(node, () => size++)
    return { tree, size }
  }
  return { tree: undefined, size: 0 }
}

const formatOccurrences = ({ lower = 0, upper }: Interval): string => `${lower}..${upper ?? '*'}`

/** Describes values together with the node that contains them; an archetype in a slot only by its name. */
function toArchetypeNode(node: ObjectConstraint, count: () => void): ArchetypeNode {
  count()
  const values = childNodes(node).filter(({ rmType }) => isSubclassOf(rmType, 'DATA_VALUE'))
  const nodes = childNodes(node).flatMap(locatableNodes)
  const codes = values.flatMap(nodeCodes)
  return {
    node_id: node.nodeId,
    ...(node.isRoot && { archetype_id: node.archetype.id }),
    name: labelOf(node),
    rm_type: node.rmType,
    occurrences: formatOccurrences(node.occurrences),
    data_types: [...new Set(values.map(({ rmType }) => rmType))],
    codes,
    children: nodes.map((child) =>
      toArchetypeNode(child.isRoot ? { ...child, attributes: [] } : child, count),
    ),
  }
}

/** The node itself or the nodes inside it, because EVENT_CONTEXT has no node id. */
const locatableNodes = (node: ObjectConstraint): ObjectConstraint[] => {
  if (isSubclassOf(node.rmType, 'LOCATABLE')) return [node]
  return isSubclassOf(node.rmType, 'DATA_VALUE') ? [] : childNodes(node).flatMap(locatableNodes)
}

const childNodes = ({ attributes }: ObjectConstraint): ObjectConstraint[] =>
  attributes.flatMap(({ children }) => children)

const NO_CODES = { terminology: '', list: [] }

function nodeCodes(value: ObjectConstraint): ArchetypeNode['codes'] {
  const describeCode = (code: Code) => ({ code: code.code, text: findCodeTerm(value, code)?.text ?? '' })
  const phrases = value.attributes.flatMap(({ children }) =>
    children.flatMap(({ codes: { terminology, list } = NO_CODES }) =>
      list.map((code) => ({ terminology, code })),
    ),
  )
  return [...phrases, ...(value.ordinals ?? []).map(({ symbol }) => symbol)].map(describeCode)
}
