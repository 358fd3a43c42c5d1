import { articled } from '../../../schemas/common.ts'
import type { Violation } from '../../../schemas/violation.ts'
import {
  type AttributeConstraint,
  contains,
  type Interval,
  inWords,
  namesOf,
  nodeIdOf,
  type ObjectConstraint,
  type Template,
} from '../opt/constraints.ts'
import { MOST, type RmObject } from '../rm/canonical.ts'
import { isA, rmClass } from '../rm/classes.ts'
import { valueFaults } from './values.ts'

/**
 * What of an object breaks its template: every fault with its place. The object is canonical: of the classes that the
 * model asks for.
 */
export function violationsIn(template: Template, object: RmObject): Violation[] {
  return faultsOf(template.root, object, '').slice(0, MOST)
}

const at = (path: string, name: string | number): string => (path === '' ? String(name) : `${path}.${name}`)

const isObject = (value: unknown): value is RmObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong with a value that a node of the template is to describe. */
function faultsOf(node: ObjectConstraint, value: unknown, path: string): Violation[] {
  if (!isObject(value)) return valueFaults(node, value, path)
  if (!fitsType(node, value)) return [{ path, code: 'type', message: `must be ${articled(node.rmType)}` }]
  if (node.slot) return slotFaults(node, value, path)
  return [
    ...detailsFaults(node, value, path),
    ...valueFaults(node, value, path),
    ...node.attributes.flatMap((attribute) => attributeFaults(attribute, value, path)),
  ]
}

/** The class, and of an interval the class of its bounds. */
function fitsType({ rmType }: ObjectConstraint, value: RmObject): boolean {
  // Many programs give a link as a plain text, which loses nothing.
  if (rmType === 'DV_URI' && value._type === 'DV_TEXT') return true
  if (!isA(value._type, rmType)) return false
  const of = /<(\w+)>$/.exec(rmType)?.[1]
  if (of === undefined || value._type !== 'DV_INTERVAL') return true
  return [value.lower, value.upper].every((bound) => !isObject(bound) || isA(bound._type, of))
}

/** At the root of an archetype, what the object says of its archetype must be so. */
function detailsFaults({ isRoot, archetype }: ObjectConstraint, value: RmObject, path: string): Violation[] {
  if (!isRoot || value.archetype_node_id === undefined) return []
  const details = value.archetype_details as RmObject | undefined
  const told = details && (details.archetype_id as RmObject | undefined)?.value
  const faults: Violation[] = []
  if (value.archetype_node_id !== archetype.id)
    faults.push({
      path: at(path, 'archetype_node_id'),
      code: 'archetype',
      message: `must be ${archetype.id}`,
    })
  if (told !== undefined && told !== archetype.id)
    faults.push({
      path: at(path, 'archetype_details.archetype_id.value'),
      code: 'archetype',
      message: `must be ${archetype.id}`,
    })
  return faults
}

function slotFaults({ slot }: ObjectConstraint, value: RmObject, path: string): Violation[] {
  const id = String(value.archetype_node_id)
  if (slot && fillsSlot(slot, id)) return []
  return [
    {
      path: at(path, 'archetype_node_id'),
      code: 'slot',
      message: 'must be an archetype that fills the slot',
    },
  ]
}

/** What is excluded by `.*` is whatever is not included. */
function fillsSlot({ includes, excludes }: ObjectConstraint['slot'] & object, id: string): boolean {
  if (includes.some((pattern) => pattern(id))) return true
  return includes.length === 0 && !excludes.some((pattern) => pattern(id))
}

function attributeFaults(attribute: AttributeConstraint, object: RmObject, path: string): Violation[] {
  const value = object[attribute.name]
  const place = at(path, attribute.name)
  const { existence, multiple } = attribute
  if (value === undefined) {
    // What the model has not cannot be missing.
    if (!(existence.lower ?? 0) || !rmClass(object._type)?.attributes.has(attribute.name)) return []
    return [{ path: place, code: 'existence', message: 'is required' }]
  }
  if (existence.upper === 0) return [{ path: place, code: 'existence', message: 'must be left out' }]
  if (attribute.children.length === 0) return []
  return multiple && Array.isArray(value)
    ? containerFaults(attribute, value, place)
    : alternativesFaults(attribute.children, value, place)
}

/** A template may demand more members than it allows: then it is its nodes that count. */
function satisfiable(cardinality: Interval, children: readonly ObjectConstraint[]): Interval {
  const demanded = children.reduce((sum, { occurrences: { lower = 0 } }) => sum + lower, 0)
  const { upper } = cardinality
  return upper === undefined || upper >= demanded ? cardinality : { ...cardinality, upper: demanded }
}

function containerFaults(
  { cardinality, children }: AttributeConstraint,
  values: unknown[],
  path: string,
): Violation[] {
  const faults: Violation[] = []
  if (cardinality && !contains(satisfiable(cardinality, children), values.length))
    faults.push({ path, code: 'cardinality', message: `must have ${inWords(cardinality)} members` })
  const counts = new Map<ObjectConstraint, number>()
  for (const [i, value] of values.entries()) {
    const place = at(path, i)
    const node = nodeFor(children, value)
    if (node === undefined) faults.push(notInTemplate(value, place))
    else {
      counts.set(node, (counts.get(node) ?? 0) + 1)
      faults.push(
        ...(isLocatable(value) ? faultsOf(node, value, place) : alternativesFaults(children, value, place)),
      )
    }
  }
  return [...faults, ...occurrencesFaults(children, counts, path)]
}

const isLocatable = (value: unknown): value is RmObject =>
  isObject(value) && value.archetype_node_id !== undefined

function notInTemplate(value: unknown, path: string): Violation {
  const id = isLocatable(value) ? ` ${String(value.archetype_node_id).slice(0, 200)}` : ''
  return { path, code: 'node', message: `is not a node${id} that the template has here` }
}

function occurrencesFaults(
  children: ObjectConstraint[],
  counts: Map<ObjectConstraint, number>,
  path: string,
): Violation[] {
  return children.flatMap((node) => {
    const { occurrences } = node
    if (contains(occurrences, counts.get(node) ?? 0)) return []
    const named = [nodeIdOf(node) || node.rmType, namesOf(node)?.[0]].filter(Boolean).join(', ')
    return [{ path, code: 'occurrences', message: `must have ${inWords(occurrences)} of ${named}` }]
  })
}

/** The node that describes a member: by its id, of several with the same one by its name, else a slot. */
function nodeFor(children: ObjectConstraint[], value: unknown): ObjectConstraint | undefined {
  if (!isLocatable(value))
    return children.find((node) => isObject(value) && fitsType(node, value)) ?? children[0]
  const id = value.archetype_node_id
  const same = children.filter((node) => nodeIdOf(node) === id && !node.slot)
  const name = (value.name as RmObject | undefined)?.value
  const named = same.find((node) => namesOf(node)?.includes(String(name)))
  const free = same.filter((node) => namesOf(node) === undefined)
  const fitting = free.find((node) => fitsType(node, value)) ?? free[0]
  return named ?? fitting ?? same[0] ?? slotFor(children, value)
}

const slotFor = (children: ObjectConstraint[], value: RmObject): ObjectConstraint | undefined =>
  children.find(
    ({ slot, rmType }) =>
      slot && isA(value._type, rmType) && fillsSlot(slot, String(value.archetype_node_id)),
  )

/** A value must match one of several nodes; the violations reported are those of the nearest one. */
function alternativesFaults(children: ObjectConstraint[], value: unknown, path: string): Violation[] {
  const candidates = isLocatable(value) ? located(children, value) : children
  const ofType = candidates.filter((node) => !isObject(value) || fitsType(node, value))
  if (ofType.length === 0) {
    if (candidates.length === 0) return [notInTemplate(value, path)]
    const types = [...new Set(candidates.map(({ rmType }) => rmType))].join(' or ')
    return [{ path, code: 'type', message: `must be ${articled(types)}` }]
  }
  let nearest: Violation[] | undefined
  for (const node of ofType) {
    const faults = faultsOf(node, value, path)
    if (faults.length === 0) return []
    if (nearest === undefined || faults.length < nearest.length) nearest = faults
  }
  return nearest ?? []
}

/** Data of one attribute may go without the id of their node where the template has but one. */
function located(children: ObjectConstraint[], value: RmObject): ObjectConstraint[] {
  const same = children.filter((node) => nodeIdOf(node) === value.archetype_node_id && !node.slot)
  if (same.length > 0) return same
  const slot = slotFor(children, value)
  return slot ? [slot] : children.filter((node) => !node.slot && node.nodeId === '' && !node.isRoot)
}
