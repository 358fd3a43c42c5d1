import { openehrRubric } from '../../schemas/openehr/openehr-codes.ts'
import type { TextMatcher } from './text-matcher.ts'

/** A range; a missing bound is open. */
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

interface QuantityUnits {
  units: string
  magnitude?: Interval
  precision?: Interval
}

/** The constraint on one attribute of the reference model. */
export interface AttributeConstraint {
  name: string
  existence: Interval
  multiple: boolean
  /** The total number of members. */
  cardinality?: Interval
  /** The permitted objects: alternatives, or the members of a container. Empty: anything. */
  children: ObjectConstraint[]
}

/** The archetypes that may fill a slot, by patterns of their ids. */
export interface Slot {
  includes: TextMatcher[]
  excludes: TextMatcher[]
}

/** The constraint on an attribute of a primitive type. */
export type Primitive =
  /** An open list offers texts, but permits others. */
  | { type: 'string'; list?: string[]; isOpen?: true; pattern?: string }
  | { type: 'boolean'; trueValid: boolean; falseValid: boolean }
  | { type: 'number'; list?: number[]; range?: Interval }
  | { type: 'date' | 'time' | 'date-time'; pattern?: string; range?: Interval<string> }
  | { type: 'duration'; pattern?: string; range?: Interval<string> }

/**
 * Names and descriptions of an archetype's codes in the template, and of codes of other terminologies:
 * `at0004`, `SNOMED-CT::444301002`.
 */
export type TermDefinitions = ReadonlyMap<string, Readonly<Record<string, string>>>

/** The archetype that a node belongs to. */
export interface ArchetypeRoot {
  id: string
  terms: TermDefinitions
}

/** The constraint on an object of the reference model: a node of an operational template. */
export interface ObjectConstraint {
  rmType: string
  /** `at0004`; empty if the archetype has none. */
  nodeId: string
  occurrences: Interval
  attributes: AttributeConstraint[]
  /** The archetype that defines its codes. */
  archetype: ArchetypeRoot
  /** Whether it is the root of that archetype. */
  isRoot: boolean
  slot?: Slot
  primitive?: Primitive
  codes?: {
    terminology: string
    list: string[]
    /** The reference set that has the codes. */
    referenceSet?: string
    /** The states of an instruction that belong to each code, a careflow step. */
    states?: ReadonlyMap<string, readonly string[]>
  }
  quantity?: { property?: Code; list: QuantityUnits[] }
  ordinals?: { value: number; symbol: Code }[]
}

/** A parsed operational template. */
export interface Template {
  templateId: string
  concept: string
  language: string
  /** The languages of its description. */
  languages: string[]
  root: ObjectConstraint
}

/** The node id in the data: at an archetype's root the archetype's id, otherwise the node's own. */
export const nodeIdOf = ({ isRoot, archetype, nodeId }: ObjectConstraint): string =>
  isRoot ? archetype.id : nodeId

export const isInInterval = <T extends number | string>(
  { lower, upper, lowerIncluded, upperIncluded }: Interval<T>,
  value: T,
): boolean =>
  (lower === undefined || (lowerIncluded ? value >= lower : value > lower)) &&
  (upper === undefined || (upperIncluded ? value <= upper : value < upper))

/** Describes a range in words: `3..10`, `at least 3`. */
export function describeInterval({
  lower,
  upper,
  lowerIncluded,
  upperIncluded,
}: Interval<number | string>): string {
  if (lower !== undefined && lower === upper) return String(lower)
  const from = lower === undefined ? '' : `${lowerIncluded ? 'at least' : 'more than'} ${lower}`
  const to = upper === undefined ? '' : `${upperIncluded ? 'at most' : 'less than'} ${upper}`
  return [from, to].filter(Boolean).join(' and ') || 'any'
}

/** The permitted names of a node, if the template sets them. */
export function allowedNames({ attributes }: ObjectConstraint): string[] | undefined {
  const name = attributes.find((attribute) => attribute.name === 'name')?.children[0]
  const value = name?.attributes.find((attribute) => attribute.name === 'value')?.children[0]?.primitive
  return value?.type === 'string' ? value.list : undefined
}

/** The names that a template gives a node or lets it choose from: texts, or the texts of codes. */
export function nodeNames(node: ObjectConstraint): string[] {
  const [name, ...others] = node.attributes.find((attribute) => attribute.name === 'name')?.children ?? []
  if (name === undefined || others.length > 0) return []
  const codes = name.attributes.find((attribute) => attribute.name === 'defining_code')?.children[0]?.codes
  const texts = codes?.list.map((code) => findCodeTerm(name, { terminology: codes.terminology, code })?.text)
  return allowedNames(node) ?? (texts ?? []).filter((text) => text !== undefined)
}

/** The label of a node: from the template, otherwise from its archetype. */
export const labelOf = (node: ObjectConstraint): string =>
  allowedNames(node)?.[0] ?? findTerm(node, node.nodeId)?.text ?? ''

export const findTerm = ({ archetype }: Pick<ObjectConstraint, 'archetype'>, code: string) =>
  archetype.terms.get(code)

/** `local` or empty: the archetype's own codes. */
export const isLocalTerminology = (terminology: string): boolean =>
  terminology === '' || terminology.toLowerCase() === 'local'

/** The name and description of a code: from the template, or from openEHR's own terminology. */
export function findCodeTerm(
  node: Pick<ObjectConstraint, 'archetype'>,
  { terminology, code }: Code,
): Readonly<Record<string, string>> | undefined {
  if (isLocalTerminology(terminology)) return findTerm(node, code)
  const rubric = terminology === 'openehr' ? openehrRubric(code) : undefined
  return findTerm(node, `${terminology}::${code}`) ?? (rubric === undefined ? undefined : { text: rubric })
}

/** A node and all nodes below it. */
export function* walkNodes(node: ObjectConstraint): Generator<ObjectConstraint> {
  yield node
  for (const { children } of node.attributes) for (const child of children) yield* walkNodes(child)
}
