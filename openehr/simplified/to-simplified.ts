import { isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import { nodeIdOf, type ObjectConstraint, type Template } from '../opt/constraints.ts'
import { isRmObject, type RmObject } from '../rm/canonical-json.ts'
import { defaultName, earliestTime } from './composition-defaults.ts'
import { type FormNode, type FormStep, hiddenEvent } from './forms/form-node.ts'
import { toFormTree } from './forms/form-tree.ts'
import { SimpleNode } from './simple-tree.ts'
import { HISTORY_ATTRIBUTES, INTERVAL_NODES } from './values/value-parts.ts'
import { writeAttributes, writeParts, writeValue } from './values/write-value.ts'

/**
 * A composition by the ids of its web template. Structures that no form shows, and nodes that the template does not
 * name, are left out.
 */
export function toSimplified(template: Template, composition: RmObject): SimpleNode {
  const root = new SimpleNode()
  const form = toFormTree(template)
  writeForm(form, composition, root.child(form.id))
  return root
}

function writeForm(form: FormNode, value: unknown, node: SimpleNode): void {
  if (!isRmObject(value) || form.children.length === 0 || isSubclassOf(value._type, 'DATA_VALUE')) {
    const { attribute, constraint } = form.steps.at(-1) as FormStep
    writeValue(value, node, { rmType: form.rmType, attribute, constraint, isOpen: form.isOpen })
    return
  }
  writeChildren(form, value, node)
  writeParts(value, node)
  const event = hiddenEvent(form, value)
  if (event?._type === 'INTERVAL_EVENT') {
    writeParts(event, node)
    writeAttributes(event, node, (attribute) => INTERVAL_NODES.includes(attribute))
  }
  const formAttributes = new Set(form.children.map(({ steps }) => steps[0]?.attribute))
  writeOwn(value, node, form.steps.at(-1), (attribute) => !formAttributes.has(attribute))
}

/** Attributes of locatable objects that follow from the template, or that are written by themselves. */
const KNOWN_ATTRIBUTES = new Set(['archetype_node_id', 'archetype_details', 'name', 'value', 'uid'])

/** The attributes of a locatable object besides its forms. */
function writeOwn(
  object: RmObject,
  node: SimpleNode,
  step: FormStep | undefined,
  isWanted: (attribute: string) => boolean = () => true,
): void {
  const { uid, name, data } = object
  if (isRmObject(uid)) node.child('_uid').parts.set('', String(uid.value))
  if (isRmObject(name) && step && name.value !== defaultName(step).value)
    writeValue(name, node.child('_name'), { rmType: 'DV_TEXT', attribute: 'name' })
  if (isRmObject(data) && data._type === 'HISTORY') writeHistory(data, node)
  const parts = new Set(object._type === 'INTERVAL_EVENT' ? ['sample_count'] : [])
  writeAttributes(
    object,
    node,
    (attribute) => isWanted(attribute) && !KNOWN_ATTRIBUTES.has(attribute) && !parts.has(attribute),
  )
}

/** What a history says itself; its origin, unless it is the time of its first event. */
function writeHistory(history: RmObject, node: SimpleNode): void {
  for (const [attribute, rmType] of HISTORY_ATTRIBUTES) {
    const value = history[attribute]
    const isUsual = attribute === 'origin' && (value as RmObject | undefined)?.value === earliestTime(history)
    if (value !== undefined && !isUsual)
      writeValue(value, node.child(`history_${attribute}`), { rmType, attribute })
  }
}

/** Forms with a name in their path come first: the others get what is left. */
const isNamed = ({ steps }: FormNode): boolean => steps.some(({ name }) => name !== undefined)

function writeChildren({ children }: FormNode, object: RmObject, node: SimpleNode): void {
  const claimedObjects = new Set<unknown>()
  const inTurn = [...children.filter(isNamed), ...children.filter((form) => !isNamed(form))]
  const elementsByForm = new Map(inTurn.map((form) => [form, [...follow(object, form, claimedObjects)]]))
  for (const form of children)
    for (const [i, { element, value }] of (elementsByForm.get(form) ?? []).entries()) {
      const child = node.child(form.id, i, form.max !== 1)
      if (element) writeOwn(element, child, form.steps.at(-2))
      if (value !== undefined) writeForm(form, value, child)
    }
}

interface Found {
  value: unknown
  /** The element that contains the value, unless it has a form. */
  element?: RmObject
}

/** The objects of a form, each at most once in all forms. */
function* follow(
  object: RmObject,
  { steps, isOpen }: FormNode,
  claimedObjects: Set<unknown>,
  stepIndex = 0,
): Generator<Found> {
  const step = steps[stepIndex] as FormStep
  const isLast = stepIndex === steps.length - 1
  for (const one of [object[step.attribute]].flat()) {
    if (one === undefined || claimedObjects.has(one) || !isAt(one, step, isOpen)) continue
    if (isLast) {
      if (isRmObject(one)) claimedObjects.add(one)
      yield { value: one }
    } else if (isRmObject(one) && one._type === 'ELEMENT') {
      const [inner] = follow(one, { steps, isOpen } as FormNode, claimedObjects, stepIndex + 1)
      if (!inner && one.value !== undefined) continue
      claimedObjects.add(one)
      yield { value: inner?.value, element: one }
    } else if (isRmObject(one))
      yield* follow(one, { steps, isOpen } as FormNode, claimedObjects, stepIndex + 1)
  }
}

/** Whether an object is the one that a step leads to. */
function isAt(value: unknown, { constraint, name }: FormStep, isOpen: true | undefined): boolean {
  if (!isRmObject(value) || constraint === undefined) return true
  // A text may stand for a code, and for a link.
  if (value._type === 'DV_TEXT' && (isOpen || constraint.rmType === 'DV_URI')) return true
  if (!isSubclassOf(value._type, constraint.rmType) || !hasBounds(value, constraint)) return false
  if (!isSubclassOf(value._type, 'LOCATABLE')) return true
  const { value: objectName } = (value.name ?? {}) as RmObject
  return value.archetype_node_id === nodeIdOf(constraint) && (name === undefined || objectName === name)
}

/** Whether the bounds of an interval are of the class that the template demands. */
function hasBounds({ lower, upper }: RmObject, { rmType }: ObjectConstraint): boolean {
  const boundClass = /<(\w+)>$/.exec(rmType)?.[1]
  return (
    boundClass === undefined ||
    [lower, upper].every((end) => !isRmObject(end) || isSubclassOf(end._type, boundClass))
  )
}
