import { findTerm, type Template } from '../../opt/constraints.ts'
import type { Cardinality, FormNode } from './form-node.ts'
import { toFormTree } from './form-tree.ts'
import { type InputNode, openInputs, proportionKinds, type WebInput, webInputsOf } from './web-inputs.ts'

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
  proportionTypes?: string[]
  /** Determined by the context, not entered in a form. */
  inContext?: true
  cardinalities?: Cardinality[]
  children?: WebNode[]
}

export interface WebTemplate {
  templateId: string
  version: '2.3'
  defaultLanguage: string
  languages: string[]
  tree: WebNode
}

/** The template as a tree for forms, in the format that openEHR servers share. */
export function toWebTemplate(template: Template): WebTemplate {
  const { templateId, language, languages } = template
  const tree = toWebNode(toFormTree(template), language)
  return { templateId, version: '2.3', defaultLanguage: language, languages, tree }
}

function toWebNode(form: FormNode, language: string): WebNode {
  const { id, name, rmType, nodeId, min, max, aqlPath, constraint, inContext, cardinalities } = form
  const inputs = inputsOf(form, language)
  const isProportion = rmType === 'DV_PROPORTION'
  return {
    id,
    name,
    ...(constraint && { localizedName: name }),
    rmType,
    ...(nodeId && { nodeId }),
    min,
    max,
    ...describe(form, language),
    aqlPath,
    ...(inputs.length > 0 && { inputs }),
    ...(isProportion && { proportionTypes: proportionKinds(constrainedOrAny(form)) }),
    ...(inContext && { inContext }),
    ...(cardinalities.length > 0 && { cardinalities }),
    ...(form.children.length > 0 && { children: form.children.map((one) => toWebNode(one, language)) }),
  }
}

/** The constraint of the template for a value; only the class if it does not constrain the value. */
const constrainedOrAny = ({ constraint, rmType }: FormNode): InputNode =>
  constraint ?? { rmType, attributes: [], archetype: { id: '', terms: new Map() } }

function inputsOf(form: FormNode, language: string): WebInput[] {
  const { children, isOpen } = form
  if (children.length > 0) return []
  const inputs = webInputsOf(constrainedOrAny(form), language)
  return isOpen ? openInputs(inputs) : inputs
}

/** The names, descriptions and comments of the template. */
function describe({ name, termConstraint }: FormNode, language: string): Partial<WebNode> {
  if (termConstraint === undefined) return {}
  const {
    text: _,
    description = name,
    ...annotations
  } = findTerm(termConstraint, termConstraint.nodeId) ?? {}
  return {
    localizedNames: { [language]: name },
    localizedDescriptions: { [language]: description },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  }
}
