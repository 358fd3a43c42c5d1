import { findRmClass, isSubclassOf, type RmAttribute } from '../../schemas/openehr/rm-classes.ts'
import type { AttributeConstraint, Interval, ObjectConstraint, Template } from '../opt/constraints.ts'
import { labelOf, nodeIdOf } from '../opt/constraints.ts'
import { type RmObject, readCanonicalJson } from '../rm/canonical-json.ts'
import { templateViolations } from '../validation/template-validation.ts'
import { constrainedValues } from './constrained-values.ts'
import { concreteClassOf, defaultValue } from './default-values.ts'

/** The detail of an example: mandatory nodes only; each node once; also each alternative of a value. */
export type DetailLevel = 'required' | 'medium' | 'complete'

interface ExampleContext {
  level: DetailLevel
  template: Template
  /** Objects that may be removed if they do not fit. */
  optional: Set<object>
}

/** Further rounds improve nothing. */
const MAX_PRUNING_ROUNDS = 20

/**
 * Creates an example composition for a template. Leaves out optional parts that cannot be made valid.
 * @param level compositions of `required` and `medium` can be stored unchanged
 */
export function createExample(template: Template, level: DetailLevel): RmObject {
  const making: ExampleContext = { level, template, optional: new Set() }
  const object = createObject(template.root, making, { isRoot: true })
  for (let round = 0; round < MAX_PRUNING_ROUNDS; round++) {
    const read = readCanonicalJson(object, 'COMPOSITION')
    const violations = [...read.violations, ...(read.object ? templateViolations(template, read.object) : [])]
    if (violations.length === 0) break
    const hasPruned = violations.map(({ path }) => pruneOptional(object, path, making.optional)).some(Boolean)
    if (!hasPruned) break
  }
  return object
}

/** Removes the innermost optional object on the path. */
function pruneOptional(object: RmObject, path: string, optional: ReadonlySet<object>): boolean {
  let value: unknown = object
  let cut: (() => void) | undefined
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) break
    const parent = value as Record<string, unknown>
    value = parent[name]
    if (typeof value === 'object' && value !== null && optional.has(value)) {
      const optionalValue = value
      cut = Array.isArray(parent)
        ? () => parent.splice(parent.indexOf(optionalValue), 1)
        : () => delete parent[name]
    }
  }
  cut?.()
  return cut !== undefined
}

const minOf = ({ lower = 0 }: Interval): number => lower

/** Creates an object for a node of the template. */
function createObject(
  node: ObjectConstraint,
  making: ExampleContext,
  { isRoot = false, declaredType = node.rmType }: { isRoot?: boolean; declaredType?: string } = {},
): RmObject {
  const type = concreteClassOf(node.rmType, declaredType)
  const rm = findRmClass(type)
  const object: RmObject = { _type: type }
  if (isSubclassOf(type, 'LOCATABLE')) Object.assign(object, locatableHead(node, making, isRoot))
  const constrainedAttributes = constrainedValues(node, type)
  for (const attribute of rm?.attributes.values() ?? []) {
    if (object[attribute.name] !== undefined) continue
    const constraint = node.attributes.find(({ name }) => name === attribute.name)
    const value =
      constrainedAttributes[attribute.name] ?? createAttribute(node, attribute, constraint, making)
    if (value !== undefined) object[attribute.name] = value
  }
  return object
}

function locatableHead(
  node: ObjectConstraint,
  { template }: ExampleContext,
  isRoot: boolean,
): Partial<RmObject> {
  const id = nodeIdOf(node)
  const name = { _type: 'DV_TEXT', value: labelOf(node) || node.rmType }
  const details = {
    _type: 'ARCHETYPED',
    archetype_id: { _type: 'ARCHETYPE_ID', value: id },
    ...(isRoot && { template_id: { _type: 'TEMPLATE_ID', value: template.templateId } }),
    rm_version: '1.0.4',
  }
  return {
    archetype_node_id: id || 'at0000',
    ...(node.attributes.some((one) => one.name === 'name' && one.children.length > 0) ? {} : { name }),
    ...(node.isRoot && { archetype_details: details }),
  }
}

/** Attributes that are included although they are optional: an element without a value has no meaning. */
const isAlwaysIncluded = (node: ObjectConstraint, { name }: RmAttribute): boolean =>
  name === 'value' || (name === 'context' && node.rmType === 'COMPOSITION')

/** Attributes that an example never contains. */
const OMITTED_ATTRIBUTES = new Set([
  'links',
  'feeder_audit',
  'null_flavour',
  'null_reason',
  'uid',
  'other_participations',
])

function createAttribute(
  node: ObjectConstraint,
  attribute: RmAttribute,
  constraint: AttributeConstraint | undefined,
  making: ExampleContext,
): unknown {
  const isRequired = attribute.mandatory || minOf(constraint?.existence ?? NO_INTERVAL) > 0
  const isWanted = isRequired || isAlwaysIncluded(node, attribute) || needsMembers(constraint)
  if (constraint?.existence.upper === 0) return undefined
  if (!isWanted && (making.level === 'required' || !constraint || OMITTED_ATTRIBUTES.has(attribute.name)))
    return undefined
  const children = constraint?.children ?? []
  const value = attribute.multiple
    ? createMembers(attribute, constraint, isRequired, making)
    : createSingle(attribute, children, making)
  if (!isWanted && typeof value === 'object' && value !== null) making.optional.add(value)
  return value
}

const NO_INTERVAL: Interval = { lowerIncluded: true, upperIncluded: true }

const needsMembers = (constraint: AttributeConstraint | undefined): boolean =>
  minOf(constraint?.cardinality ?? NO_INTERVAL) > 0 ||
  (constraint?.children.some(({ occurrences }) => minOf(occurrences) > 0) ?? false)

/** Creates the first alternative for which an example is possible. */
function createSingle(
  attribute: RmAttribute,
  children: readonly ObjectConstraint[],
  making: ExampleContext,
): unknown {
  const child = children.find(({ slot }) => !slot)
  if (child === undefined)
    return children.length > 0 ? undefined : defaultValue(attribute.type, attribute.name)
  if (child.primitive) return constrainedValues(child, child.rmType).value
  return createObject(child, making, { declaredType: attribute.type })
}

function createMembers(
  attribute: RmAttribute,
  constraint: AttributeConstraint | undefined,
  isRequired: boolean,
  making: ExampleContext,
): unknown[] | undefined {
  const children = (constraint?.children ?? []).filter(({ slot }) => !slot)
  const { upper = Number.POSITIVE_INFINITY } = constraint?.cardinality ?? {}
  const minCount = Math.max(minOf(constraint?.cardinality ?? NO_INTERVAL), isRequired ? 1 : 0)
  const members: RmObject[] = []
  for (const child of children)
    for (let i = 0; i < minOf(child.occurrences); i++)
      members.push(createObject(child, making, { declaredType: attribute.type }))
  for (const child of children) {
    const isFull = members.length >= upper || child.occurrences.upper === 0
    const isOptional = minOf(child.occurrences) === 0
    if (!isOptional || isFull || (making.level === 'required' && members.length >= minCount)) continue
    for (const member of createOptional(child, attribute, making).slice(0, upper - members.length)) {
      if (members.length >= minCount) making.optional.add(member)
      members.push(member)
    }
  }
  if (members.length < minCount && children.length === 0) {
    const member = defaultValue(attribute.type, attribute.name)
    if (member !== undefined) members.push(member as RmObject)
  }
  return members.length > 0 ? sortByTemplate(members, children) : undefined
}

/** Sorts members by the order of the template. */
function sortByTemplate(members: RmObject[], children: readonly ObjectConstraint[]): RmObject[] {
  const places = new Map(children.map((child, i) => [nodeIdOf(child), i] as const).reverse())
  const place = ({ archetype_node_id: id }: RmObject) => places.get(String(id)) ?? -1
  return members.toSorted((a, b) => place(a) - place(b))
}

/**
 * Creates an optional node: once, but at level `complete` an element once for each alternative of its value.
 */
function createOptional(child: ObjectConstraint, { type }: RmAttribute, making: ExampleContext): RmObject[] {
  const first = createObject(child, making, { declaredType: type })
  const values = child.attributes.find(({ name }) => name === 'value')
  const most = child.occurrences.upper ?? Number.POSITIVE_INFINITY
  if (making.level !== 'complete' || child.rmType !== 'ELEMENT' || !values || most < 2) return [first]
  const otherElements = values.children.slice(1).map((value) => {
    const only = { ...values, children: [value] }
    const attributes = child.attributes.map((one) => (one === values ? only : one))
    return createObject({ ...child, attributes }, making, { declaredType: type })
  })
  return [first, ...otherElements].slice(0, most)
}
