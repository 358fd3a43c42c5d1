import { isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import type { ArchetypeRoot, ObjectConstraint } from '../../opt/constraints.ts'
import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'

/** A step from an object to one below it. */
export interface FormStep {
  attribute: string
  multiple: boolean
  /** The class of the object, if no template constrains it. */
  rmType?: string
  constraint?: ObjectConstraint
  /** The name of the object, if the template names it or lists it among others. */
  name?: string
}

/** A field of a form, or a group of fields. */
export interface FormNode {
  id: string
  name: string
  rmType: string
  /** Node id of the object, or of the element that contains the value. */
  nodeId?: string
  /** The constraint whose term describes the form. */
  termConstraint?: ObjectConstraint
  min: number
  /** -1: unlimited. */
  max: number
  aqlPath: string
  /** Determined by the context, not entered in a form. */
  inContext?: true
  /** The constraint of the template for the object. */
  constraint?: ObjectConstraint
  archetype?: ArchetypeRoot
  /** A coded text that may also be a text without a code. */
  isOpen?: true
  /** From the object of the form above. */
  steps: FormStep[]
  children: FormNode[]
  cardinalities: Cardinality[]
}

/** Limits of the number of members in which a form has a choice. */
export interface Cardinality {
  min: number
  max: number
  ids: string[]
}

/** A form before the structures without meaning to a form are left out. */
export interface DraftForm {
  form: FormNode
  /** Its place among siblings of the same id. */
  number?: number
  isHidden?: boolean
  isSlot?: boolean
  children: DraftForm[]
}

/** `Blood pressure (sitting)` -> `blood_pressure_sitting` */
export function toFormId(name: string): string {
  const words = name.replaceAll(/[^\p{Alphabetic}0-9._-]/gu, ' ').trim()
  const id = words.replaceAll(/ +/g, '_').toLowerCase()
  return id.replace(/^(?=\d)/, 'a') || 'id'
}

/** Names a choice by its class: `quantity_value`, `interval_of_quantity_value`. */
export function nameByClass(form: FormNode): void {
  const [, interval, className] = /^DV_(INTERVAL(?=<))?(?:<DV_)?(\w+)/.exec(form.rmType) ?? []
  if (className !== undefined) form.id = `${interval ? 'interval_of_' : ''}${className.toLowerCase()}_value`
}

/** Notes the place of each among siblings of the same id. */
export function numberDrafts(drafts: DraftForm[]): DraftForm[] {
  const countsById = new Map<string, number>()
  for (const draft of drafts) {
    if (draft.isSlot) continue
    draft.number = (countsById.get(draft.form.id) ?? 0) + 1
    countsById.set(draft.form.id, draft.number)
  }
  return drafts
}

/** `event`, and `event2` for the second one. */
export const idOfDraft = ({ form: { id }, number = 1 }: DraftForm): string =>
  number > 1 ? `${id}${number}` : id

/** The form without hidden structures: their members appear in their place. */
export function flattenDraft(draft: DraftForm): FormNode[] {
  const { form, isSlot, isHidden } = draft
  if (isSlot) return []
  const children = draft.children.flatMap(flattenDraft)
  const [only] = children
  if (form.rmType === 'ELEMENT' && only && children.length === 1) {
    const { min, max } = form
    return [{ ...only, id: idOfDraft(draft), min, max, steps: [...form.steps, ...only.steps] }]
  }
  if (isHidden) return children.map((child) => ({ ...child, steps: [...form.steps, ...child.steps] }))
  return [{ ...form, children: withUniqueIds(children) }]
}

/** The only event of an observation, if the forms show its members in its place. */
export function hiddenEvent({ children }: FormNode, { data }: RmObject): RmObject | undefined {
  const isHidden = children.some(({ steps }) =>
    steps.slice(0, -1).some(({ constraint }) => constraint && isSubclassOf(constraint.rmType, 'EVENT')),
  )
  const { events } = (isHidden && isRmObject(data) ? data : {}) as { events?: RmObject[] }
  return events?.length === 1 ? events[0] : undefined
}

/** Adds a number to the second and later of equal ids. */
function withUniqueIds(forms: FormNode[]): FormNode[] {
  const usedIds = new Set<string>()
  return forms.map((form) => {
    let id = form.id
    for (let number = 2; usedIds.has(id); number++) id = `${form.id}${number}`
    usedIds.add(id)
    return { ...form, id }
  })
}
