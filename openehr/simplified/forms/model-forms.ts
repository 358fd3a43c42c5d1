import { findRmClass, isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../../schemas/validation/look-up.ts'
import type { DraftForm, FormNode } from './form-node.ts'

type ModelAttribute = readonly [path: string, rmType: string, min: 0 | 1]

const ENTRY_ATTRIBUTES: readonly ModelAttribute[] = [
  ['subject', 'PARTY_PROXY', 1],
  ['language', 'CODE_PHRASE', 1],
  ['encoding', 'CODE_PHRASE', 1],
]
const EVENT_ATTRIBUTES: readonly ModelAttribute[] = [['time', 'DV_DATE_TIME', 1]]

/** The attributes that the model gives to any form of a class. */
const MODEL_ATTRIBUTES: Readonly<Record<string, readonly ModelAttribute[]>> = {
  COMPOSITION: [
    ['category', 'DV_CODED_TEXT', 1],
    ['context', 'EVENT_CONTEXT', 0],
    ['composer', 'PARTY_PROXY', 1],
    ['language', 'CODE_PHRASE', 1],
    ['territory', 'CODE_PHRASE', 1],
  ],
  EVENT_CONTEXT: [
    ['start_time', 'DV_DATE_TIME', 1],
    ['setting', 'DV_CODED_TEXT', 1],
  ],
  OBSERVATION: ENTRY_ATTRIBUTES,
  EVALUATION: ENTRY_ATTRIBUTES,
  ADMIN_ENTRY: ENTRY_ATTRIBUTES,
  INSTRUCTION: [...ENTRY_ATTRIBUTES, ['narrative', 'DV_TEXT', 1], ['expiry_time', 'DV_DATE_TIME', 0]],
  ACTIVITY: [
    ['timing', 'DV_PARSABLE', 0],
    ['action_archetype_id', 'STRING', 1],
  ],
  ACTION: [
    ...ENTRY_ATTRIBUTES,
    ['time', 'DV_DATE_TIME', 1],
    ['ism_transition', 'ISM_TRANSITION', 1],
    ['instruction_details/activity_id', 'STRING', 1],
    ['instruction_details/instruction_id', 'LOCATABLE_REF', 1],
  ],
  ISM_TRANSITION: [
    ['current_state', 'DV_CODED_TEXT', 1],
    ['transition', 'DV_CODED_TEXT', 0],
  ],
  EVENT: EVENT_ATTRIBUTES,
  POINT_EVENT: EVENT_ATTRIBUTES,
  INTERVAL_EVENT: [...EVENT_ATTRIBUTES, ['width', 'DV_DURATION', 1], ['math_function', 'DV_CODED_TEXT', 1]],
}

/** Forms for the attributes that the model gives to a class, if the template says nothing of them. */
export const modelForms = (rmType: string, aqlPath: string): DraftForm[] =>
  (lookUp(MODEL_ATTRIBUTES, rmType) ?? []).map(([path, type, min]) => {
    const attributes = path.split('/')
    const id = attributes.at(-1) as string
    const steps = attributes.map((attribute, i) => ({
      attribute,
      multiple: false,
      rmType: i < attributes.length - 1 ? 'INSTRUCTION_DETAILS' : type,
    }))
    const form: FormNode = {
      id,
      name: id,
      rmType: type,
      min,
      max: 1,
      aqlPath: `${aqlPath}/${path}`,
      steps,
      ...(isInContext(rmType, id) && { inContext: true }),
      children: [],
      cardinalities: [],
    }
    return { form, children: modelForms(type, form.aqlPath) }
  })

/** The attributes that the context of a form determines, by class. */
const CONTEXT_ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  COMPOSITION: ['language', 'territory', 'composer', 'category'],
  EVENT_CONTEXT: ['start_time', 'end_time', 'location', 'setting', 'participations'],
  ENTRY: ['language', 'provider', 'other_participations', 'subject', 'encoding'],
  INSTRUCTION: ['narrative'],
  ACTIVITY: ['timing', 'action_archetype_id'],
  ACTION: ['time', 'ism_transition'],
  ISM_TRANSITION: ['current_state', 'careflow_step', 'transition'],
  EVENT: ['time'],
}

export const isInContext = (rmType: string, attribute: string): boolean =>
  Object.entries(CONTEXT_ATTRIBUTES).some(
    ([name, attributes]) => isSubclassOf(rmType, name) && attributes.includes(attribute),
  )

/** Optional attributes that forms show nevertheless. */
const SHOWN_ATTRIBUTES = new Set(['context', 'timing', 'expiry_time', 'transition', 'ism_transition'])

/** Mandatory attributes that forms do not show. */
const HIDDEN_ATTRIBUTES = new Set(['origin', 'media_type'])

/** Whether a form shows an attribute of the model that a template may mention, but that nobody fills in. */
export const isLeftOut = (rmType: string, { nodeId, name, min }: FormNode): boolean =>
  nodeId === undefined &&
  name !== 'value' &&
  findRmClass(rmType)?.attributes.has(name) === true &&
  (HIDDEN_ATTRIBUTES.has(name) || (min === 0 && !SHOWN_ATTRIBUTES.has(name)))
