import type { AttributeConstraint, Interval, ObjectConstraint, Template } from '../opt/constraints.ts'
import { labelOf, nodeIdOf } from '../opt/constraints.ts'
import { canonical, type RmObject } from '../rm/canonical.ts'
import { isA, type RmAttribute, rmClass } from '../rm/classes.ts'
import { violationsIn } from '../validation/validate.ts'
import { filledIn } from './filled-in.ts'
import { concreteOf, usual } from './usual.ts'

/** How much an example tells: what must be there; each node once; each alternative of a value, too. */
export type DetailLevel = 'required' | 'medium' | 'complete'

interface Making {
  level: DetailLevel
  template: Template
  /** What may be left out again when it does not fit. */
  optional: Set<object>
}

/** More rounds than this improve nothing. */
const ROUNDS = 20

/**
 * A composition as the template wants it, made up. What is optional and cannot be made so that it fits is left out.
 * @param level `required` and `medium` can be stored as they are
 */
export function exampleOf(template: Template, level: DetailLevel): RmObject {
  const making: Making = { level, template, optional: new Set() }
  const object = objectFor(template.root, making, { isRoot: true })
  for (let round = 0; round < ROUNDS; round++) {
    const read = canonical(object, 'COMPOSITION')
    const found = [...read.violations, ...(read.object ? violationsIn(template, read.object) : [])]
    if (found.length === 0) break
    const pruned = found.map(({ path }) => prune(object, path, making.optional)).some(Boolean)
    if (!pruned) break
  }
  return object
}

/** Takes the innermost optional object on the way to a place out. */
function prune(object: RmObject, path: string, optional: ReadonlySet<object>): boolean {
  let value: unknown = object
  let cut: (() => void) | undefined
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) break
    const holder = value as Record<string, unknown>
    value = holder[name]
    if (typeof value === 'object' && value !== null && optional.has(value)) {
      const found = value
      cut = Array.isArray(holder) ? () => holder.splice(holder.indexOf(found), 1) : () => delete holder[name]
    }
  }
  cut?.()
  return cut !== undefined
}

const least = ({ lower = 0 }: Interval): number => lower

/** An object for a node of the template. */
function objectFor(
  node: ObjectConstraint,
  making: Making,
  { isRoot = false, declared = node.rmType }: { isRoot?: boolean; declared?: string } = {},
): RmObject {
  const type = concreteOf(node.rmType, declared)
  const rm = rmClass(type)
  const object: RmObject = { _type: type }
  if (isA(type, 'LOCATABLE')) Object.assign(object, headOf(node, making, isRoot))
  const own = filledIn(node, type)
  for (const attribute of rm?.attributes.values() ?? []) {
    if (object[attribute.name] !== undefined) continue
    const constraint = node.attributes.find(({ name }) => name === attribute.name)
    const value = own[attribute.name] ?? attributeFor(node, attribute, constraint, making)
    if (value !== undefined) object[attribute.name] = value
  }
  return object
}

function headOf(node: ObjectConstraint, { template }: Making, isRoot: boolean): Partial<RmObject> {
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

/** Attributes that are told although the model does without: an element without a value says nothing. */
const isTold = (node: ObjectConstraint, { name }: RmAttribute): boolean =>
  name === 'value' || (name === 'context' && node.rmType === 'COMPOSITION')

/** What is not asked for in an example, whatever the level. */
const LEFT_OUT = new Set([
  'links',
  'feeder_audit',
  'null_flavour',
  'null_reason',
  'uid',
  'other_participations',
])

function attributeFor(
  node: ObjectConstraint,
  attribute: RmAttribute,
  constraint: AttributeConstraint | undefined,
  making: Making,
): unknown {
  const demanded = attribute.mandatory || least(constraint?.existence ?? NONE) > 0
  const isWanted = demanded || isTold(node, attribute) || needsMembers(constraint)
  if (constraint?.existence.upper === 0) return undefined
  if (!isWanted && (making.level === 'required' || !constraint || LEFT_OUT.has(attribute.name)))
    return undefined
  const children = constraint?.children ?? []
  const value = attribute.multiple
    ? membersFor(attribute, constraint, demanded, making)
    : oneFor(attribute, children, making)
  if (!isWanted && typeof value === 'object' && value !== null) making.optional.add(value)
  return value
}

const NONE: Interval = { lowerIncluded: true, upperIncluded: true }

const needsMembers = (constraint: AttributeConstraint | undefined): boolean =>
  least(constraint?.cardinality ?? NONE) > 0 ||
  (constraint?.children.some(({ occurrences }) => least(occurrences) > 0) ?? false)

/** The first of the alternatives of which one can be made. */
function oneFor(attribute: RmAttribute, children: readonly ObjectConstraint[], making: Making): unknown {
  const child = children.find(({ slot }) => !slot)
  if (child === undefined) return children.length > 0 ? undefined : usual(attribute.type, attribute.name)
  if (child.primitive) return filledIn(child, child.rmType).value
  return objectFor(child, making, { declared: attribute.type })
}

function membersFor(
  attribute: RmAttribute,
  constraint: AttributeConstraint | undefined,
  demanded: boolean,
  making: Making,
): unknown[] | undefined {
  const children = (constraint?.children ?? []).filter(({ slot }) => !slot)
  const { upper = Number.POSITIVE_INFINITY } = constraint?.cardinality ?? {}
  const wanted = Math.max(least(constraint?.cardinality ?? NONE), demanded ? 1 : 0)
  const members: RmObject[] = []
  for (const child of children)
    for (let i = 0; i < least(child.occurrences); i++)
      members.push(objectFor(child, making, { declared: attribute.type }))
  for (const child of children) {
    const isFull = members.length >= upper || child.occurrences.upper === 0
    const isOptional = least(child.occurrences) === 0
    if (!isOptional || isFull || (making.level === 'required' && members.length >= wanted)) continue
    for (const member of optionalFor(child, attribute, making).slice(0, upper - members.length)) {
      if (members.length >= wanted) making.optional.add(member)
      members.push(member)
    }
  }
  if (members.length < wanted && children.length === 0) {
    const member = usual(attribute.type, attribute.name)
    if (member !== undefined) members.push(member as RmObject)
  }
  return members.length > 0 ? inOrder(members, children) : undefined
}

/** Members stand in the order of the template. */
function inOrder(members: RmObject[], children: readonly ObjectConstraint[]): RmObject[] {
  const places = new Map(children.map((child, i) => [nodeIdOf(child), i] as const).reverse())
  const place = ({ archetype_node_id: id }: RmObject) => places.get(String(id)) ?? -1
  return members.toSorted((a, b) => place(a) - place(b))
}

/** A node that may be there: once, and of an element each of the alternatives of its value when all is wanted. */
function optionalFor(child: ObjectConstraint, { type }: RmAttribute, making: Making): RmObject[] {
  const first = objectFor(child, making, { declared: type })
  const values = child.attributes.find(({ name }) => name === 'value')
  const most = child.occurrences.upper ?? Number.POSITIVE_INFINITY
  if (making.level !== 'complete' || child.rmType !== 'ELEMENT' || !values || most < 2) return [first]
  const others = values.children.slice(1).map((value) => {
    const only = { ...values, children: [value] }
    const attributes = child.attributes.map((one) => (one === values ? only : one))
    return objectFor({ ...child, attributes }, making, { declared: type })
  })
  return [first, ...others].slice(0, most)
}
