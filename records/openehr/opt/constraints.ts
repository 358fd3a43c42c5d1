import type { Pattern } from './patterns.ts'

/** A range; a bound that is missing is open. */
export interface Interval<T = number> {
  lower?: T
  upper?: T
  lowerIncluded: boolean
  upperIncluded: boolean
}

export interface Code {
  terminology: string
  code: string
}

interface Units {
  units: string
  magnitude?: Interval
  precision?: Interval
}

/** What one attribute of the reference model may hold. */
export interface AttributeConstraint {
  name: string
  existence: Interval
  multiple: boolean
  /** How many there may be in all. */
  cardinality?: Interval
  /** What may stand there; several are alternatives, or the members of a container. None: anything. */
  children: ObjectConstraint[]
}

/** Which archetypes fill a slot, by patterns of their ids. */
export interface Slot {
  includes: Pattern[]
  excludes: Pattern[]
}

/** What an attribute of a primitive type may be. */
export type Primitive =
  | { type: 'string'; list?: string[]; pattern?: string }
  | { type: 'boolean'; trueValid: boolean; falseValid: boolean }
  | { type: 'number'; list?: number[]; range?: Interval }
  | { type: 'date' | 'time' | 'date-time'; pattern?: string; range?: Interval<string> }
  | { type: 'duration'; pattern?: string; range?: Interval<string> }

/** Names and descriptions of the codes of one archetype, as the template has them. */
export type Terms = ReadonlyMap<string, Readonly<Record<string, string>>>

/** The archetype that a node belongs to. */
export interface ArchetypeRoot {
  id: string
  terms: Terms
}

/** What an object of the reference model may be: a node of an operational template. */
export interface ObjectConstraint {
  rmType: string
  /** `at0004`; empty where the archetype has none. */
  nodeId: string
  occurrences: Interval
  attributes: AttributeConstraint[]
  /** The archetype whose codes it uses. */
  archetype: ArchetypeRoot
  /** Whether it is the root of that archetype. */
  isRoot: boolean
  slot?: Slot
  primitive?: Primitive
  codes?: { terminology: string; list: string[] }
  quantity?: { property?: Code; list: Units[] }
  ordinals?: { value: number; symbol: Code }[]
}

/** An operational template, read. */
export interface Template {
  templateId: string
  concept: string
  language: string
  root: ObjectConstraint
}

/** What the data carry at this node: the archetype's id at its root, else the node's own. */
export const nodeIdOf = ({ isRoot, archetype, nodeId }: ObjectConstraint): string =>
  isRoot ? archetype.id : nodeId

export const contains = <T extends number | string>(
  { lower, upper, lowerIncluded, upperIncluded }: Interval<T>,
  value: T,
): boolean =>
  (lower === undefined || (lowerIncluded ? value >= lower : value > lower)) &&
  (upper === undefined || (upperIncluded ? value <= upper : value < upper))

/** `3..10`, `at least 3`: a range in words. */
export function inWords({ lower, upper, lowerIncluded, upperIncluded }: Interval<number | string>): string {
  if (lower !== undefined && lower === upper) return String(lower)
  const from = lower === undefined ? '' : `${lowerIncluded ? 'at least' : 'more than'} ${lower}`
  const to = upper === undefined ? '' : `${upperIncluded ? 'at most' : 'less than'} ${upper}`
  return [from, to].filter(Boolean).join(' and ') || 'any'
}

/** The names that a node may have, when the template names it. */
export function namesOf({ attributes }: ObjectConstraint): string[] | undefined {
  const name = attributes.find((attribute) => attribute.name === 'name')?.children[0]
  const value = name?.attributes.find((attribute) => attribute.name === 'value')?.children[0]?.primitive
  return value?.type === 'string' ? value.list : undefined
}

/** What a node is called: as the template says, else as its archetype does. */
export const labelOf = (node: ObjectConstraint): string =>
  namesOf(node)?.[0] ?? termOf(node, node.nodeId)?.text ?? ''

export const termOf = ({ archetype }: ObjectConstraint, code: string) => archetype.terms.get(code)

/** Every node below one, itself included, with its parent attribute. */
export function* nodesOf(node: ObjectConstraint): Generator<ObjectConstraint> {
  yield node
  for (const { children } of node.attributes) for (const child of children) yield* nodesOf(child)
}
