import { runAtOnce, type Steps } from '../../records/limits/time-slice.ts'
import { withArticle } from '../../schemas/common.ts'
import { findRmClass, isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import {
  type AttributeConstraint,
  allowedNames,
  describeInterval,
  type Interval,
  isInInterval,
  nodeIdOf,
  type ObjectConstraint,
  type Template,
} from '../opt/constraints.ts'
import { isRmObject, type RmObject, ViolationList } from '../rm/canonical-json.ts'
import { valueViolations } from './value-validation.ts'

/**
 * The violations of a template by an object, with their paths, as many as one response shows. The object must be
 * canonical, with the classes of the reference model.
 */
export function* templateViolationsInSteps(template: Template, object: RmObject): Steps<Violation[]> {
  const faults = new ViolationList()
  yield* checkNode(template.root, object, '', faults)
  return faults.found
}

/** The same of a small object, at once. */
export const templateViolations = (template: Template, object: RmObject): Violation[] =>
  runAtOnce(templateViolationsInSteps(template, object))

const joinPath = (path: string, name: string | number): string =>
  path === '' ? String(name) : `${path}.${name}`

/** Adds the violations of a template node by a value. */
function* checkNode(
  node: ObjectConstraint,
  value: unknown,
  path: string,
  faults: ViolationList,
): Steps<undefined> {
  yield
  if (!isRmObject(value)) faults.addAll(valueViolations(node, value, path))
  else if (!matchesRmType(node, value)) faults.add(path, 'type', `must be ${withArticle(node.rmType)}`)
  else if (node.slot) faults.addAll(slotViolations(node, value, path))
  else {
    faults.addAll(archetypeDetailsViolations(node, value, path))
    faults.addAll(valueViolations(node, value, path))
    for (const attribute of node.attributes)
      if (!faults.isFull) yield* checkAttribute(attribute, value, path, faults)
  }
}

/** Whether class and template parameter match; the parameter is the class of an interval's bounds. */
function matchesRmType({ rmType }: ObjectConstraint, value: RmObject): boolean {
  // Many programs send a link as a plain text, which loses nothing.
  if (rmType === 'DV_URI' && value._type === 'DV_TEXT') return true
  if (!isSubclassOf(value._type, rmType)) return false
  const boundClass = /<(\w+)>$/.exec(rmType)?.[1]
  if (boundClass === undefined || value._type !== 'DV_INTERVAL') return true
  return [value.lower, value.upper].every(
    (bound) => !isRmObject(bound) || isSubclassOf(bound._type, boundClass),
  )
}

/** At the root of an archetype, `archetype_details` must match the node. */
function archetypeDetailsViolations(
  { isRoot, archetype }: ObjectConstraint,
  value: RmObject,
  path: string,
): Violation[] {
  if (!isRoot || value.archetype_node_id === undefined) return []
  const details = value.archetype_details as RmObject | undefined
  const archetypeId = details && (details.archetype_id as RmObject | undefined)?.value
  const faults: Violation[] = []
  if (value.archetype_node_id !== archetype.id)
    faults.push({
      path: joinPath(path, 'archetype_node_id'),
      code: 'archetype',
      message: `must be ${archetype.id}`,
    })
  if (archetypeId !== undefined && archetypeId !== archetype.id)
    faults.push({
      path: joinPath(path, 'archetype_details.archetype_id.value'),
      code: 'archetype',
      message: `must be ${archetype.id}`,
    })
  return faults
}

function slotViolations({ slot }: ObjectConstraint, value: RmObject, path: string): Violation[] {
  const id = String(value.archetype_node_id)
  if (slot && fillsSlot(slot, id)) return []
  return [
    {
      path: joinPath(path, 'archetype_node_id'),
      code: 'slot',
      message: 'must be an archetype that the slot allows',
    },
  ]
}

/** Includes take precedence: an exclude of `.*` means everything that is not included. */
function fillsSlot({ includes, excludes }: ObjectConstraint['slot'] & object, id: string): boolean {
  if (includes.some((pattern) => pattern(id))) return true
  return includes.length === 0 && !excludes.some((pattern) => pattern(id))
}

function* checkAttribute(
  attribute: AttributeConstraint,
  object: RmObject,
  path: string,
  faults: ViolationList,
): Steps<undefined> {
  const value = Object.hasOwn(object, attribute.name) ? object[attribute.name] : undefined
  const place = joinPath(path, attribute.name)
  const { existence, multiple } = attribute
  if (value === undefined) {
    // An attribute that the model does not have cannot be missing.
    if ((existence.lower ?? 0) && findRmClass(object._type)?.attributes.has(attribute.name))
      faults.add(place, 'existence', 'is required')
  } else if (existence.upper === 0) faults.add(place, 'existence', 'must be left out')
  else if (attribute.children.length > 0)
    yield* multiple && Array.isArray(value)
      ? checkMembers(attribute, value, place, faults)
      : checkAlternatives(attribute.children, value, place, faults)
}

/** A template may require more members than its cardinality allows; then the nodes take precedence. */
function relaxCardinality(cardinality: Interval, children: readonly ObjectConstraint[]): Interval {
  const requiredCount = children.reduce((sum, { occurrences: { lower = 0 } }) => sum + lower, 0)
  const { upper } = cardinality
  return upper === undefined || upper >= requiredCount
    ? cardinality
    : { ...cardinality, upper: requiredCount }
}

function* checkMembers(
  { cardinality, children }: AttributeConstraint,
  values: unknown[],
  path: string,
  faults: ViolationList,
): Steps<undefined> {
  if (cardinality && !isInInterval(relaxCardinality(cardinality, children), values.length))
    faults.add(path, 'cardinality', `must have ${describeInterval(cardinality)} members`)
  const counts = new Map<ObjectConstraint, number>()
  for (const [i, value] of values.entries()) {
    if (faults.isFull) return
    const place = joinPath(path, i)
    const node = findNodeFor(children, value)
    if (node === undefined) faults.addAll([notInTemplateViolation(value, place)])
    else {
      counts.set(node, (counts.get(node) ?? 0) + 1)
      yield* isLocatable(value)
        ? checkNode(node, value, place, faults)
        : checkAlternatives(children, value, place, faults)
    }
  }
  faults.addAll(occurrencesViolations(children, counts, path))
}

const isLocatable = (value: unknown): value is RmObject =>
  isRmObject(value) && value.archetype_node_id !== undefined

function notInTemplateViolation(value: unknown, path: string): Violation {
  const id = isLocatable(value) ? ` ${String(value.archetype_node_id).slice(0, 200)}` : ''
  return { path, code: 'node', message: `is not a node${id} of the template at this place` }
}

function occurrencesViolations(
  children: ObjectConstraint[],
  counts: Map<ObjectConstraint, number>,
  path: string,
): Violation[] {
  return children.flatMap((node) => {
    const { occurrences } = node
    if (isInInterval(occurrences, counts.get(node) ?? 0)) return []
    const nodeLabel = [nodeIdOf(node) || node.rmType, allowedNames(node)?.[0]].filter(Boolean).join(', ')
    return [
      { path, code: 'occurrences', message: `must have ${describeInterval(occurrences)} of ${nodeLabel}` },
    ]
  })
}

/** The node for a member: by id, among equal ids by name, otherwise a slot. */
function findNodeFor(children: ObjectConstraint[], value: unknown): ObjectConstraint | undefined {
  if (!isLocatable(value))
    return children.find((node) => isRmObject(value) && matchesRmType(node, value)) ?? children[0]
  const id = value.archetype_node_id
  const same = children.filter((node) => nodeIdOf(node) === id && !node.slot)
  const name = (value.name as RmObject | undefined)?.value
  const namedNode = same.find((node) => allowedNames(node)?.includes(String(name)))
  const free = same.filter((node) => allowedNames(node) === undefined)
  const fitting = free.find((node) => matchesRmType(node, value)) ?? free[0]
  return namedNode ?? fitting ?? same[0] ?? findSlotFor(children, value)
}

const findSlotFor = (children: ObjectConstraint[], value: RmObject): ObjectConstraint | undefined =>
  children.find(
    ({ slot, rmType }) =>
      slot && isSubclassOf(value._type, rmType) && fillsSlot(slot, String(value.archetype_node_id)),
  )

/** A value must match one of several nodes; reports the violations of the closest one. */
function* checkAlternatives(
  children: ObjectConstraint[],
  value: unknown,
  path: string,
  faults: ViolationList,
): Steps<undefined> {
  const candidates = isLocatable(value) ? findMatchingNodes(children, value) : children
  if (candidates.length === 0) return faults.addAll([notInTemplateViolation(value, path)])
  const ofType = candidates.filter((node) => !isRmObject(value) || matchesRmType(node, value))
  const [only, ...others] = ofType
  if (only === undefined) {
    const types = [...new Set(candidates.map(({ rmType }) => rmType))].join(' or ')
    return faults.add(path, 'type', `must be ${withArticle(types)}`)
  }
  if (others.length === 0) return yield* checkNode(only, value, path, faults)
  let nearest: Violation[] | undefined
  for (const node of ofType) {
    const nodeViolations = new ViolationList()
    yield* checkNode(node, value, path, nodeViolations)
    if (nodeViolations.found.length === 0) return
    if (nearest === undefined || nodeViolations.found.length < nearest.length) nearest = nodeViolations.found
  }
  faults.addAll(nearest ?? [])
}

/** Data may omit the node id if the template's node has none. */
function findMatchingNodes(children: ObjectConstraint[], value: RmObject): ObjectConstraint[] {
  const same = children.filter((node) => nodeIdOf(node) === value.archetype_node_id && !node.slot)
  if (same.length > 0) return same
  const slot = findSlotFor(children, value)
  return slot ? [slot] : children.filter((node) => !node.slot && node.nodeId === '' && !node.isRoot)
}
