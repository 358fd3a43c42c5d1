import { findRmClass } from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import {
  type AttributeConstraint,
  findTerm,
  labelOf,
  nodeIdOf,
  type ObjectConstraint,
  type Template,
} from '../opt/constraints.ts'
import { type WebInput, webTemplateInputs } from './web-template-inputs.ts'

/** A node of a web template: a form field or group, with the AQL path of its value. */
export interface WebNode {
  id: string
  name: string
  localizedName?: string
  rmType: string
  nodeId?: string
  min: number
  /** -1: unlimited. */
  max: number
  localizedNames?: Record<string, string>
  localizedDescriptions?: Record<string, string>
  aqlPath: string
  annotations?: Record<string, string>
  inputs?: WebInput[]
  /** Determined by the context, not entered in a form. */
  inContext?: true
  children?: WebNode[]
}

export interface WebTemplate {
  templateId: string
  version: '2.3'
  defaultLanguage: string
  languages: string[]
  tree: WebNode
}

/** Structures that forms do not show; their members appear in their place. */
const HIDDEN_CLASSES = new Set(['HISTORY', 'ITEM_TREE', 'ITEM_LIST', 'ITEM_SINGLE', 'ITEM_TABLE'])

/** The template as a tree for forms, in the format that openEHR servers share. */
export function toWebTemplate(template: Template): WebTemplate {
  const { templateId, language } = template
  const tree = { ...toWebNode(template.root, '', language), min: 1, max: 1 }
  return { templateId, version: '2.3', defaultLanguage: language, languages: [language], tree }
}

/** `Blood pressure (sitting)` -> `blood_pressure_sitting` */
const toNodeId = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}.-]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .replace(/^(?=\d)/, 'a') || 'id'

function toWebNode(node: ObjectConstraint, path: string, language: string): WebNode {
  const name = labelOf(node) || node.rmType.toLowerCase()
  const { description, comment } = findTerm(node, node.nodeId) ?? {}
  const children = findRmClass(node.rmType)?.isA.has('DATA_VALUE') ? [] : childWebNodes(node, path, language)
  return {
    id: toNodeId(name),
    name,
    localizedName: name,
    rmType: node.rmType,
    ...(nodeIdOf(node) && { nodeId: nodeIdOf(node) }),
    min: node.occurrences.lower ?? 0,
    max: node.occurrences.upper ?? -1,
    localizedNames: { [language]: name },
    ...(description !== undefined && { localizedDescriptions: { [language]: description } }),
    aqlPath: path,
    ...(comment && { annotations: { comment } }),
    ...(children.length > 0 && { children: numberDuplicateIds(children) }),
  }
}

/** Adds a number to the second and later of equal ids: `event`, `event2`. */
function numberDuplicateIds(nodes: WebNode[]): WebNode[] {
  const countById = new Map<string, number>()
  return nodes.map((node) => {
    const count = (countById.get(node.id) ?? 0) + 1
    countById.set(node.id, count)
    return count === 1 ? node : { ...node, id: `${node.id}${count}` }
  })
}

/** The nodes below a node: those that the template constrains, and those that the model always requires. */
function childWebNodes(node: ObjectConstraint, path: string, language: string): WebNode[] {
  const constrained = node.attributes
    .filter(({ name }) => name !== 'name')
    .map((attribute) => (attribute.name === 'ism_transition' ? mergeTransitions(attribute) : attribute))
    .flatMap((attribute) => {
      const times = countBy(attribute.children, nodeIdOf)
      return attribute.children.flatMap((child) => {
        const isShared = (times.get(nodeIdOf(child)) ?? 0) > 1
        return webNodesOfChild(
          attribute,
          child,
          `${path}/${attribute.name}${nodePredicate(child, isShared)}`,
          language,
        )
      })
    })
  const have = new Set(constrained.map(({ aqlPath }) => aqlPath))
  return [...constrained, ...contextNodes(node.rmType, path).filter(({ aqlPath }) => !have.has(aqlPath))]
}

/** Merges the transitions of a state machine into one node with the codes of all. */
function mergeTransitions(attribute: AttributeConstraint): AttributeConstraint {
  const [first, ...others] = attribute.children
  if (first === undefined || others.length === 0) return attribute
  const codesOf = (node: ObjectConstraint, name: string): ObjectConstraint[] =>
    node.attributes
      .find((one) => one.name === name)
      ?.children[0]?.attributes.flatMap(({ children }) => children) ?? []
  const attributes = first.attributes.map((one) => {
    const codes = attribute.children.flatMap((node) =>
      codesOf(node, one.name).flatMap(({ codes }) => codes?.list ?? []),
    )
    const children = one.children.map((value) => withCodes(value, [...new Set(codes)]))
    return { ...one, children }
  })
  return { ...attribute, children: [{ ...first, nodeId: '', attributes }] }
}

const withCodes = (value: ObjectConstraint, list: string[]): ObjectConstraint => ({
  ...value,
  attributes: value.attributes.map((attribute) => ({
    ...attribute,
    children: attribute.children.map((child) =>
      child.codes ? { ...child, codes: { ...child.codes, list } } : child,
    ),
  })),
})

function webNodesOfChild(
  attribute: AttributeConstraint,
  child: ObjectConstraint,
  place: string,
  language: string,
): WebNode[] {
  const type = child.rmType
  if (child.slot || child.primitive) return []
  if (HIDDEN_CLASSES.has(type) || isOnlyEvent(attribute, child)) return childWebNodes(child, place, language)
  if (type === 'ELEMENT') return [toElementNode(child, place, language)]
  if (type === 'EVENT_CONTEXT' || type === 'ISM_TRANSITION')
    return [{ ...toWebNode(child, place, language), id: attribute.name, name: attribute.name }]
  if (findRmClass(type)?.isA.has('DATA_VALUE')) return [toDataValueNode(attribute, child, place, language)]
  return [toWebNode(child, place, language)]
}

/** `[at0004]`; with the name if several nodes of an attribute share the id. */
function nodePredicate(child: ObjectConstraint, isShared: boolean): string {
  const id = nodeIdOf(child)
  if (id === '') return ''
  return isShared ? `[${id},'${labelOf(child).replaceAll(/['\\]/g, '\\$&')}']` : `[${id}]`
}

function countBy<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, number> {
  const times = new Map<string, number>()
  for (const key of all.map(keyOf)) times.set(key, (times.get(key) ?? 0) + 1)
  return times
}

const isOnlyEvent = ({ children }: AttributeConstraint, { rmType, occurrences }: ObjectConstraint): boolean =>
  findRmClass(rmType)?.isA.has('EVENT') === true && children.length === 1 && occurrences.upper === 1

/** A value that the template constrains outside of elements. */
function toDataValueNode(
  { name }: AttributeConstraint,
  child: ObjectConstraint,
  path: string,
  language: string,
): WebNode {
  const { rmType } = child
  const inputs = webTemplateInputs(child, language)
  return {
    id: name,
    name,
    rmType,
    min: child.occurrences.lower ?? 0,
    max: 1,
    aqlPath: path,
    ...(inputs.length > 0 && { inputs }),
    inContext: true,
  }
}

/** Shows an element as its value, or as a choice if the value can have several types. */
function toElementNode(element: ObjectConstraint, path: string, language: string): WebNode {
  const nulls = element.attributes.find(({ name }) => name === 'null_flavour')?.children[0]
  const values = element.attributes.find(({ name }) => name === 'value')?.children ?? []
  const base = toWebNode(
    { ...element, attributes: element.attributes.filter(({ name }) => name === 'name') },
    path,
    language,
  )
  const [only] = values
  if (only === undefined) return base
  if (values.length === 1 && nulls === undefined)
    return { ...base, ...toValueNode(only, `${path}/value`, language) }
  const choiceOf = (child: ObjectConstraint, place: string): WebNode => ({
    ...base,
    ...toValueNode(child, place, language),
    id: `${toNodeId(child.rmType.replace(/^DV_/, ''))}_value`,
    min: child.occurrences.lower ?? 0,
    max: 1,
  })
  const choices = values.map((one) => choiceOf(one, `${path}/value`))
  if (nulls) choices.push(choiceOf(nulls, `${path}/null_flavour`))
  return { ...base, children: numberDuplicateIds(choices) }
}

/** The node of a value: its type and input fields. */
function toValueNode(
  value: ObjectConstraint,
  aqlPath: string,
  language: string,
): Pick<WebNode, 'rmType' | 'aqlPath' | 'inputs' | 'children'> {
  const of = /^DV_INTERVAL<(\w+)>$/.exec(value.rmType)?.[1]
  if (of === undefined) {
    const inputs = webTemplateInputs(value, language)
    return { rmType: value.rmType, aqlPath, ...(inputs.length > 0 && { inputs }) }
  }
  const end = (name: 'upper' | 'lower'): WebNode => {
    const bound = value.attributes.find((attribute) => attribute.name === name)?.children[0]
    const inputs = webTemplateInputs(bound ?? { ...value, rmType: of, attributes: [] }, language)
    return { id: name, name, rmType: of, min: 1, max: 1, aqlPath: `${aqlPath}/${name}`, inputs }
  }
  return { rmType: value.rmType, aqlPath, children: [end('upper'), end('lower')] }
}

type ContextAttribute = readonly [attribute: string, rmType: string, min: 0 | 1]

const ENTRY_CONTEXT: readonly ContextAttribute[] = [
  ['subject', 'PARTY_PROXY', 1],
  ['language', 'CODE_PHRASE', 1],
  ['encoding', 'CODE_PHRASE', 1],
]

/** The attributes that the model requires in any template, by class. */
const CONTEXT_BY_CLASS: Readonly<Record<string, readonly ContextAttribute[]>> = {
  COMPOSITION: [
    ['category', 'DV_CODED_TEXT', 1],
    ['composer', 'PARTY_PROXY', 1],
    ['language', 'CODE_PHRASE', 1],
    ['territory', 'CODE_PHRASE', 1],
  ],
  EVENT_CONTEXT: [
    ['start_time', 'DV_DATE_TIME', 1],
    ['setting', 'DV_CODED_TEXT', 1],
  ],
  OBSERVATION: ENTRY_CONTEXT,
  EVALUATION: ENTRY_CONTEXT,
  ADMIN_ENTRY: ENTRY_CONTEXT,
  INSTRUCTION: [...ENTRY_CONTEXT, ['narrative', 'DV_TEXT', 1], ['expiry_time', 'DV_DATE_TIME', 0]],
  ACTIVITY: [
    ['timing', 'DV_PARSABLE', 0],
    ['action_archetype_id', 'STRING', 1],
  ],
  ACTION: [...ENTRY_CONTEXT, ['time', 'DV_DATE_TIME', 1]],
  ISM_TRANSITION: [['transition', 'DV_CODED_TEXT', 0]],
  EVENT: [['time', 'DV_DATE_TIME', 1]],
  POINT_EVENT: [['time', 'DV_DATE_TIME', 1]],
  INTERVAL_EVENT: [
    ['time', 'DV_DATE_TIME', 1],
    ['width', 'DV_DURATION', 1],
    ['math_function', 'DV_CODED_TEXT', 1],
  ],
}

const UNCONSTRAINED = { attributes: [], archetype: { id: '', terms: new Map() } }

function contextNodes(rmType: string, path: string): WebNode[] {
  return (lookUp(CONTEXT_BY_CLASS, rmType) ?? []).map(([name, type, min]) => {
    const inputs = webTemplateInputs({ ...UNCONSTRAINED, rmType: type }, '')
    return {
      id: name,
      name,
      rmType: type,
      min,
      max: 1,
      aqlPath: `${path}/${name}`,
      ...(inputs.length > 0 && { inputs }),
      inContext: true,
    }
  })
}
