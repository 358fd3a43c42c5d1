import { mapInSlices, type TimeSlice } from '../../records/limits/time-slice.ts'
import { findRmClass, isSubclassOf } from '../../schemas/openehr/rm-classes.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { nodeIdOf, type ObjectConstraint, type Template } from '../opt/constraints.ts'
import type { RmObject } from '../rm/canonical-json.ts'
import { CompositionDefaults, defaultName, openehrText } from './composition-defaults.ts'
import { type FormNode, type FormStep, hiddenEvent } from './forms/form-node.ts'
import { toFormTree } from './forms/form-tree.ts'
import { SimpleNode } from './simple-tree.ts'
import { readAttributes, readParts, readRaw, readValue } from './values/read-value.ts'
import { HISTORY_ATTRIBUTES, INTERVAL_NODES } from './values/value-parts.ts'

/**
 * Makes a composition from its nodes by the ids of the web template, and lets others run. It may still violate the model or its template.
 * @param currentTime the current time, where a time is missing
 */
export async function fromSimplified(
  template: Template,
  root: SimpleNode,
  currentTime: string,
  slice: TimeSlice,
): Promise<{ composition: RmObject; violations: Violation[] }> {
  const [context = new SimpleNode()] = root.takeAll('ctx')
  const form = toFormTree(template)
  const defaults = new CompositionDefaults(template, context, currentTime)
  const [node = root.child(form.id)] = root.takeAll(form.id)
  const reader = new CompositionReader(template, defaults, slice)
  const composition = await reader.read(form, node)
  const violations = [...root.lines()]
    .filter(([path]) => !path.startsWith('ctx/'))
    .map(([path]) => ({ path, code: 'unknown', message: UNKNOWN_PATH }))
  return { composition, violations }
}

const UNKNOWN_PATH = 'is no path of the web template, or of an attribute there'

class CompositionReader {
  readonly #template: Template
  readonly #defaults: CompositionDefaults
  readonly #slice: TimeSlice
  /** The objects and the steps to them, each before its members. */
  readonly #stepsByObject = new Map<unknown, FormStep>()

  constructor(template: Template, defaults: CompositionDefaults, slice: TimeSlice) {
    this.#template = template
    this.#defaults = defaults
    this.#slice = slice
  }

  async read(form: FormNode, node: SimpleNode): Promise<RmObject> {
    const step = form.steps[0] as FormStep
    const composition = this.#newObject(step, 'COMPOSITION')
    Object.assign(composition.archetype_details as RmObject, {
      template_id: { _type: 'TEMPLATE_ID', value: this.#template.templateId },
    })
    await this.#fill(form, node, composition)
    // Structures that this adds come at the end, so that they get theirs, too.
    for (const [object, { constraint }] of this.#stepsByObject) {
      this.#addStructures(object as RmObject, constraint)
      if (this.#slice.isOver()) await this.#slice.yieldToOthers()
    }
    await mapInSlices(
      [...this.#stepsByObject.keys()].reverse(),
      (object) => this.#defaults.complete(object as RmObject),
      this.#slice,
    )
    return composition
  }

  /** Adds the structures that the model or the template demands, although nothing is in them. */
  #addStructures(object: RmObject, constraint: ObjectConstraint | undefined): void {
    for (const { name: attribute, existence, children } of constraint?.attributes ?? []) {
      const rmAttribute = findRmClass(object._type)?.attributes.get(attribute)
      const isDemanded = rmAttribute?.mandatory || (existence.lower ?? 0) > 0
      const structure = children.find(
        ({ rmType, slot }) => !slot && STRUCTURES.some((one) => isSubclassOf(rmType, one)),
      )
      if (!isDemanded || rmAttribute?.multiple || !structure || object[attribute] !== undefined) continue
      const step = { attribute, multiple: false, constraint: structure }
      this.#attach(object, step, this.#newObject(step, structure.rmType))
    }
  }

  /** Reads the forms below an object, then its other attributes. */
  async #fill(form: FormNode, node: SimpleNode, object: RmObject): Promise<void> {
    for (const child of form.children)
      for (const one of occurrencesOf(child, node)) {
        await this.#readForm(child, one, object)
        if (this.#slice.isOver()) await this.#slice.yieldToOthers()
      }
    const event = hiddenEvent(form, object)
    if (event?._type === 'POINT_EVENT' && isIntervalNode(node)) this.#readInterval(node, event)
    this.#readOwn(node, object)
  }

  /** What an event without a form of its own says beside its observation. */
  #readInterval(node: SimpleNode, event: RmObject): void {
    event._type = 'INTERVAL_EVENT'
    readParts(node, event, this.#defaults.reading)
    readAttributes(node, event, {}, this.#defaults.reading, INTERVAL_NODES)
  }

  #readOwn(node: SimpleNode, object: RmObject): void {
    const { reading } = this.#defaults
    readParts(node, object, reading)
    const history = object.data as RmObject | undefined
    if (history?._type === 'HISTORY')
      for (const [attribute, rmType] of HISTORY_ATTRIBUTES)
        for (const one of node.takeAll(`history_${attribute}`))
          history[attribute] = readValue(one, { rmType, attribute }, reading)
    readAttributes(node, object, {}, reading)
  }

  async #readForm(form: FormNode, node: SimpleNode, parent: RmObject): Promise<void> {
    let object = parent
    for (const step of form.steps.slice(0, -1)) {
      const rmType = step.constraint?.rmType ?? step.rmType ?? ''
      if (rmType === 'ELEMENT') {
        object = this.#attach(object, step, this.#newObject(step, rmType))
        this.#readElement(node, object)
      } else
        object = this.#findShared(object, step) ?? this.#attach(object, step, this.#newObject(step, rmType))
    }
    const last = form.steps.at(-1) as FormStep
    if (!node.isEmpty) await this.#attachValue(form, last, node, object)
  }

  async #attachValue(form: FormNode, step: FormStep, node: SimpleNode, parent: RmObject): Promise<void> {
    const { attribute, constraint } = step
    if (form.children.length === 0 || isSubclassOf(form.rmType, 'DATA_VALUE')) {
      const expected = { rmType: form.rmType, attribute, constraint, isOpen: form.isOpen }
      this.#attach(parent, step, readValue(node, expected, this.#defaults.reading))
      return
    }
    const raw = node.take('raw')
    if (raw !== undefined) {
      this.#attach(parent, step, readRaw(raw))
      return
    }
    const existingObject = step.multiple ? undefined : (parent[attribute] as RmObject | undefined)
    const object = existingObject ?? this.#attach(parent, step, this.#newObject(step, classOf(form, node)))
    await this.#fill(form, node, object)
    if (form.rmType === 'ISM_TRANSITION') object.current_state ??= stateOfStep(form, object)
  }

  /** The attributes of an element without a form of its own: `_null_flavour`. */
  #readElement(node: SimpleNode, element: RmObject): void {
    const elementNames = node.names.filter((name) => ELEMENT_NODES.includes(name))
    readAttributes(node, element, {}, this.#defaults.reading, elementNames)
  }

  /** A structure that several forms share. */
  #findShared(parent: RmObject, { attribute, constraint }: FormStep): RmObject | undefined {
    const there = [parent[attribute]].flat()
    return there.find((one) => this.#stepsByObject.get(one)?.constraint === constraint) as
      | RmObject
      | undefined
  }

  #attach<T>(parent: RmObject, { attribute, multiple }: FormStep, value: T): T {
    if (!multiple) parent[attribute] = value
    else {
      parent[attribute] ??= []
      ;(parent[attribute] as unknown[]).push(value)
    }
    return value
  }

  #newObject(step: FormStep, rmType: string): RmObject {
    const _type = CONCRETE_CLASSES[rmType] ?? rmType
    const object: RmObject = { _type }
    this.#stepsByObject.set(object, step)
    const { constraint } = step
    if (constraint === undefined || !isSubclassOf(_type, 'LOCATABLE')) return object
    const id = nodeIdOf(constraint)
    const archetype_id = { _type: 'ARCHETYPE_ID', value: id }
    return Object.assign(object, {
      archetype_node_id: id,
      name: defaultName(step),
      ...(constraint.isRoot && {
        archetype_details: { _type: 'ARCHETYPED', archetype_id, rm_version: '1.0.4' },
      }),
    })
  }
}

const ELEMENT_NODES = ['_null_flavour', '_null_reason', '_name', '_uid', '_link', '_feeder_audit']
const STRUCTURES = ['ITEM_STRUCTURE', 'HISTORY']

const CONCRETE_CLASSES: Readonly<Record<string, string>> = {
  EVENT: 'POINT_EVENT',
  ITEM_STRUCTURE: 'ITEM_TREE',
}

/** The first state that the template gives to the careflow step of a transition. */
function stateOfStep({ children }: FormNode, { careflow_step }: RmObject): unknown {
  const code = ((careflow_step as RmObject | undefined)?.defining_code as RmObject | undefined)?.code_string
  const defining = children
    .find(({ id }) => id === 'careflow_step')
    ?.constraint?.attributes.find(({ name }) => name === 'defining_code')
  const [state] = defining?.children[0]?.codes?.states?.get(String(code)) ?? []
  return state === undefined ? undefined : openehrText(state)
}

/** Some servers name the choice of an interval differently: `interval_of_quantity_value`. */
const otherId = (id: string): string => id.replace(/^interval<dv_(\w+)>/, 'interval_of_$1')

const occurrencesOf = ({ id }: FormNode, node: SimpleNode): SimpleNode[] => [
  ...node.takeAll(id),
  ...(id.startsWith('interval<') ? node.takeAll(otherId(id)) : []),
]

const isIntervalNode = ({ children, parts }: SimpleNode): boolean =>
  parts.has('sample_count') || INTERVAL_NODES.some((name) => children.has(name) || children.has(`_${name}`))

/** The class of an event follows from what it says. */
const classOf = ({ rmType }: FormNode, node: SimpleNode): string =>
  rmType === 'EVENT' && isIntervalNode(node) ? 'INTERVAL_EVENT' : rmType
