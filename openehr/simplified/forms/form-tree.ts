import { isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import {
  type AttributeConstraint,
  labelOf,
  nodeIdOf,
  nodeNames,
  type ObjectConstraint,
  type Template,
} from '../../opt/constraints.ts'
import { formsOfElement } from './element-forms.ts'
import {
  type Cardinality,
  type DraftForm,
  type FormNode,
  type FormStep,
  flattenDraft,
  idOfDraft,
  nameByClass,
  numberDrafts,
  toFormId,
} from './form-node.ts'
import { isInContext, isLeftOut, modelForms } from './model-forms.ts'
import { mergeTransitions } from './transitions.ts'

/** The template as a tree of forms: the fields and groups that a person fills in. */
export function toFormTree({ root }: Template): FormNode {
  const [draft] = draftForms(root, { attribute: '', multiple: false, constraint: root }, '')
  const [form] = draft ? flattenDraft(draft) : []
  return { ...(form as FormNode), min: 1, max: 1 }
}

/** Structures that forms do not show; their members appear in their place. */
const HIDDEN_CLASSES = new Set([
  'HISTORY',
  'ITEM_TREE',
  'ITEM_LIST',
  'ITEM_SINGLE',
  'ITEM_TABLE',
  'ITEM_STRUCTURE',
])

/** The node id in the data. Only locatable objects have one, but some tools write others. */
const shownNodeId = (node: ObjectConstraint): string =>
  isSubclassOf(node.rmType, 'LOCATABLE') ? nodeIdOf(node) : ''

/** The forms of a node of the template: one for each name that the template lists. */
function draftForms(constraint: ObjectConstraint, step: FormStep, parentPath: string): DraftForm[] {
  const id = shownNodeId(constraint)
  const path = step.attribute === '' ? '' : `${parentPath}/${step.attribute}`
  const [first, ...others] = nodeNames(constraint)
  return [first, ...others].map((name) => {
    const namedStep = name === undefined ? step : { ...step, name }
    return draftForm(constraint, namedStep, path && withPredicate(path, id, name))
  })
}

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

/** `[at0004]`, or `[at0004,'Systolic']` */
const withPredicate = (path: string, id: string, name: string | undefined): string =>
  id === '' ? path : `${path}[${id}${name === undefined ? '' : `,${quote(name)}`}]`

function draftForm(constraint: ObjectConstraint, step: FormStep, aqlPath: string): DraftForm {
  const { rmType, occurrences, archetype } = constraint
  const nodeId = shownNodeId(constraint)
  const name = step.name ?? (nodeId ? labelOf(constraint) || rmType.toLowerCase() : step.attribute)
  const form: FormNode = {
    id: toFormId(name),
    name,
    rmType,
    aqlPath,
    constraint,
    archetype,
    steps: [step],
    children: [],
    ...(nodeId && { nodeId, termConstraint: constraint }),
    min: occurrences.lower ?? 0,
    max: occurrences.upper ?? -1,
    cardinalities: [],
  }
  const isValue = isSubclassOf(rmType, 'DATA_VALUE')
  const drafts = isValue ? intervalEnds(constraint, aqlPath) : childForms(constraint, aqlPath)
  const children = numberDrafts(rmType === 'ELEMENT' ? formsOfElement(form, drafts) : drafts)
  form.cardinalities = cardinalitiesOf(constraint, children)
  return { form, isSlot: constraint.slot !== undefined, isHidden: HIDDEN_CLASSES.has(rmType), children }
}

function childForms(constraint: ObjectConstraint, aqlPath: string): DraftForm[] {
  const constrainedForms = constraint.attributes
    .filter(({ name }) => name !== 'name')
    .map((attribute) => (attribute.name === 'ism_transition' ? mergeTransitions(attribute) : attribute))
    .flatMap((attribute) => attributeForms(constraint.rmType, attribute, aqlPath))
  const ids = new Set(constrainedForms.map(({ form }) => form.id))
  const further = modelForms(constraint.rmType, aqlPath).filter(({ form }) => !ids.has(form.id))
  return [...nameChoices(constrainedForms), ...further]
}

function attributeForms(rmType: string, attribute: AttributeConstraint, aqlPath: string): DraftForm[] {
  const { name, multiple, children } = attribute
  const drafts = children
    .filter(({ primitive }) => primitive === undefined)
    .flatMap((constraint) => draftForms(constraint, { attribute: name, multiple, constraint }, aqlPath))
    .filter(({ form }) => !isLeftOut(rmType, form))
  if (isInContext(rmType, name)) for (const { form } of drafts) form.inContext = true
  const [event, ...others] = drafts.filter(({ form }) => isSubclassOf(form.rmType, 'EVENT'))
  if (event && others.length === 0 && event.form.max === 1) event.isHidden = true
  for (const draft of drafts) if (sharesNodeId(draft, drafts)) addName(draft)
  return drafts
}

/** Whether a form without a name in its path has the node id of one with a name. */
const sharesNodeId = ({ form }: DraftForm, drafts: readonly DraftForm[]): boolean =>
  form.nodeId !== undefined &&
  form.steps[0]?.name === undefined &&
  drafts.some(({ form: other }) => other.nodeId === form.nodeId && other.steps[0]?.name !== undefined)

/** Adds the name to the path of a form, and of those below it. */
function addName(draft: DraftForm): void {
  const { aqlPath, name } = draft.form
  const newPath = aqlPath.replace(/\]$/, () => `,${quote(name)}]`)
  const visit = ({ form, children }: DraftForm): void => {
    form.aqlPath = newPath + form.aqlPath.slice(aqlPath.length)
    children.forEach(visit)
  }
  visit(draft)
}

/** Values at one path are a choice. */
function nameChoices(drafts: DraftForm[]): DraftForm[] {
  const isChoice = ({ form }: DraftForm): boolean =>
    drafts.some(({ form: other }) => other !== form && other.aqlPath === form.aqlPath)
  for (const draft of drafts) if (isChoice(draft)) nameByClass(draft.form)
  return drafts
}

/** The two ends of an interval, whether the template constrains them or not. */
function intervalEnds(constraint: ObjectConstraint, aqlPath: string): DraftForm[] {
  const boundClass = /^DV_INTERVAL<(\w+)>$/.exec(constraint.rmType)?.[1]
  if (boundClass === undefined) return []
  return ['upper', 'lower'].map((attribute) => {
    const bound = constraint.attributes.find(({ name }) => name === attribute)?.children[0]
    const end = bound ?? { ...constraint, rmType: boundClass, attributes: [] }
    const draft = draftForm(
      { ...end, occurrences: { lower: 1, upper: 1, lowerIncluded: true, upperIncluded: true } },
      { attribute, multiple: false, constraint: end },
      `${aqlPath}/${attribute}`,
    )
    return draft
  })
}

function cardinalitiesOf({ attributes }: ObjectConstraint, drafts: readonly DraftForm[]): Cardinality[] {
  return attributes.flatMap(({ name, multiple, cardinality }) => {
    const ids = drafts.filter(({ form }) => form.steps[0]?.attribute === name).map(idOfDraft)
    const { lower: min = 0, upper: max = -1 } = cardinality ?? {}
    return multiple && (min > 1 || (max >= 0 && max < ids.length)) ? [{ min, max, ids }] : []
  })
}
