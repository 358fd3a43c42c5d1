import type { RmObject } from '../rm/canonical-json.ts'
import { hasFacts, shortKey } from './facts.ts'

/**
 * The structure of an archetype's occurrence: its nodes without their values. Compositions of one template
 * have few structures. Whether a path of node ids leads to one value, to several or to none is the same in all
 * occurrences of a structure, so one of them shows it for all.
 */
export const structureKey = (root: RmObject): string => shortKey(describeNode(root))

function describeNode(node: RmObject): string {
  const parts: string[] = [String(node._type), String(node.archetype_node_id)]
  if (node._type === 'ELEMENT') parts.push(describeValue(node.value))
  for (const name in node) {
    const value = node[name]
    if (typeof value !== 'object' || value === null) continue
    const members = (Array.isArray(value) ? value : [value]).filter(isNode)
    if (members.length > 0) parts.push(`${name}:${describeMembers(members)}`)
  }
  return `(${parts.join(' ')})`
}

const isNode = (value: unknown): value is RmObject =>
  typeof value === 'object' && value !== null && (value as RmObject).archetype_node_id !== undefined

/** Several equal members count like two, since their number changes the rows but not their kind. */
function describeMembers(members: readonly RmObject[]): string {
  const times = new Map<string, number>()
  for (const member of members) {
    const id = String(member.archetype_node_id)
    const text = hasFacts(id) ? id : describeNode(member)
    times.set(text, (times.get(text) ?? 0) + 1)
  }
  return [...times]
    .map(([text, count]) => (count > 1 ? `${text}+` : text))
    .sort()
    .join('')
}

/** The class of a value, and whether it has a magnitude. */
function describeValue(value: unknown): string {
  const { _type = '', magnitude } = (value ?? {}) as Partial<RmObject>
  return `${_type}${typeof magnitude === 'number' ? '#' : ''}`
}

/** Whether an object is an occurrence of the archetype that its node id names, and has facts. */
export const isFactRoot = ({ _type, archetype_node_id: id }: RmObject): boolean =>
  typeof id === 'string' && hasFacts(id) && id.split(/[-.]/)[2] === _type
