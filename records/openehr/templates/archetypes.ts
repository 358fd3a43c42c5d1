import { type Static, Type } from '@sinclair/typebox'
import type { ArchetypeNode } from '../../../schemas/template.ts'
import {
  type Interval,
  labelOf,
  nodesOf,
  type ObjectConstraint,
  type Template,
  termOf,
} from '../opt/constraints.ts'
import { isA } from '../rm/classes.ts'

/** An archetype in a template. */
export const ArchetypeUse = Type.Object({ id: Type.String(), concept: Type.String(), rmType: Type.String() })

export interface Archetype extends Static<typeof ArchetypeUse> {
  /** The ids of the templates that use it. */
  templates: string[]
}

/** The archetypes that a template is made of, each once. */
export function archetypesIn(template: Template): Static<typeof ArchetypeUse>[] {
  const found = new Map<string, Static<typeof ArchetypeUse>>()
  for (const node of nodesOf(template.root)) {
    const { isRoot, rmType, archetype } = node
    if (!isRoot || found.has(archetype.id)) continue
    found.set(archetype.id, { id: archetype.id, concept: termOf(node, 'at0000')?.text ?? '', rmType })
  }
  return [...found.values()]
}

/** The nodes of an archetype as a template, or the archetype itself, has them, and how many they are. */
export function treeOf(
  template: Pick<Template, 'root'>,
  archetypeId: string,
): { tree: ArchetypeNode | undefined; size: number } {
  for (const node of nodesOf(template.root)) {
    if (!node.isRoot || node.archetype.id !== archetypeId) continue
    let size = 0
    const tree = nodeOf(node, () => size++)
    return { tree, size }
  }
  return { tree: undefined, size: 0 }
}

const occurrencesOf = ({ lower = 0, upper }: Interval): string => `${lower}..${upper ?? '*'}`

/** Values are described with the node that holds them; another archetype that fills a slot by its name only. */
function nodeOf(node: ObjectConstraint, count: () => void): ArchetypeNode {
  count()
  const values = within(node).filter(({ rmType }) => isA(rmType, 'DATA_VALUE'))
  const nodes = within(node).flatMap(locatablesIn)
  const codes = values.flatMap(codesOf)
  return {
    node_id: node.nodeId,
    ...(node.isRoot && { archetype_id: node.archetype.id }),
    name: labelOf(node),
    rm_type: node.rmType,
    occurrences: occurrencesOf(node.occurrences),
    data_types: [...new Set(values.map(({ rmType }) => rmType))],
    codes,
    children: nodes.map((child) => nodeOf(child.isRoot ? { ...child, attributes: [] } : child, count)),
  }
}

/** Itself, or what is within it: a context has no node of its own. */
const locatablesIn = (node: ObjectConstraint): ObjectConstraint[] => {
  if (isA(node.rmType, 'LOCATABLE')) return [node]
  return isA(node.rmType, 'DATA_VALUE') ? [] : within(node).flatMap(locatablesIn)
}

const within = ({ attributes }: ObjectConstraint): ObjectConstraint[] =>
  attributes.flatMap(({ children }) => children)

function codesOf(value: ObjectConstraint): ArchetypeNode['codes'] {
  const named = (code: string) => ({ code, text: termOf(value, code)?.text ?? '' })
  const phrases = value.attributes.flatMap(({ children }) =>
    children.flatMap(({ codes }) => codes?.list ?? []),
  )
  return [...phrases, ...(value.ordinals ?? []).map(({ symbol }) => symbol.code)].map(named)
}
