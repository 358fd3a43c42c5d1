import { ServiceError } from '../../../schemas/errors.ts'
import type { Violation } from '../../../schemas/violation.ts'
import { readXml, type XmlElement } from '../formats/xml.ts'
import { rmClass } from '../rm/classes.ts'
import type { ArchetypeRoot, AttributeConstraint, ObjectConstraint, Template, Terms } from './constraints.ts'
import { childOf, childrenOf, integersOf, textOf } from './elements.ts'
import { primitiveOf, slotOf, valuesOf } from './leaves.ts'

/** An operational template is nested deeper than the compositions that follow it. */
const DEPTH = 400

/** What is found wrong with a template on the way. */
interface Reading {
  violations: Violation[]
}

/**
 * Reads an operational template (OPT 1.4).
 * @throws MalformedRequest for what is no XML; InvalidInput for what is no template, naming all that is missing
 */
export function readTemplate(bytes: Uint8Array): Template {
  const xml = readXml(bytes, DEPTH)
  const reading: Reading = { violations: [] }
  const definition = childOf(xml, 'definition')
  const templateId = required(reading, xml, 'template_id', 'value')
  const concept = required(reading, xml, 'concept')
  if (xml.name !== 'template') refuse(reading, xml.name, 'root', 'is no operational template')
  if (definition === undefined) refuse(reading, 'definition', 'required', 'is required')
  const root = definition && readObject(reading, definition, undefined, 'definition')
  if (root && !root.isRoot) refuse(reading, 'definition.archetype_id', 'required', 'is required')
  if (reading.violations.length > 0 || root === undefined)
    throw new ServiceError('InvalidInput', { violations: reading.violations })
  const language = textOf(xml, 'language', 'code_string') || 'en'
  return { templateId, concept, language, root }
}

function refuse({ violations }: Reading, path: string, code: string, message: string): void {
  if (violations.length < 100) violations.push({ path, code, message })
}

function required(reading: Reading, xml: XmlElement, ...path: string[]): string {
  const text = textOf(xml, ...path)
  if (text === '') refuse(reading, path.join('.'), 'required', 'is required')
  else if (text.length > 255) refuse(reading, path.join('.'), 'maxLength', 'must have at most 255 characters')
  return text
}

const NOWHERE: ArchetypeRoot = { id: '', terms: new Map() }

function readObject(
  reading: Reading,
  xml: XmlElement,
  within: ArchetypeRoot | undefined,
  path: string,
): ObjectConstraint {
  const rmType = textOf(xml, 'rm_type_name')
  const archetypeId = textOf(xml, 'archetype_id', 'value')
  const isRoot = archetypeId !== ''
  if (rmType === '') refuse(reading, `${path}.rm_type_name`, 'required', 'is required')
  const archetype = isRoot ? { id: archetypeId, terms: termsOf(xml) } : (within ?? NOWHERE)
  const primitive = primitiveOf(xml)
  if (!primitive && rmType !== '' && xml.type !== 'C_PRIMITIVE_OBJECT' && rmClass(rmType) === undefined)
    refuse(reading, `${path}.rm_type_name`, 'class', 'must be a class of the reference model')
  const slot = xml.type === 'ARCHETYPE_SLOT' ? slotOf(xml) : undefined
  return {
    rmType,
    nodeId: textOf(xml, 'node_id'),
    occurrences: integersOf(childOf(xml, 'occurrences')) ?? {
      lower: 0,
      lowerIncluded: true,
      upperIncluded: true,
    },
    attributes: readAttributes(reading, xml, archetype, path),
    archetype,
    isRoot,
    ...(slot && { slot }),
    ...(primitive && { primitive }),
    ...valuesOf(xml),
  }
}

function readAttributes(
  reading: Reading,
  xml: XmlElement,
  archetype: ArchetypeRoot,
  path: string,
): AttributeConstraint[] {
  return childrenOf(xml, 'attributes').map((attribute, i) => {
    const place = `${path}.attributes.${i}`
    const name = textOf(attribute, 'rm_attribute_name')
    if (name === '') refuse(reading, `${place}.rm_attribute_name`, 'required', 'is required')
    const cardinality = integersOf(childOf(childOf(attribute, 'cardinality'), 'interval'))
    return {
      name,
      existence: integersOf(childOf(attribute, 'existence')) ?? { lowerIncluded: true, upperIncluded: true },
      multiple: attribute.type === 'C_MULTIPLE_ATTRIBUTE',
      ...(cardinality && { cardinality }),
      children: childrenOf(attribute, 'children').map((child, j) =>
        readObject(reading, child, archetype, `${place}.children.${j}`),
      ),
    }
  })
}

const itemsOf = (xml: XmlElement): Readonly<Record<string, string>> =>
  Object.fromEntries(childrenOf(xml, 'items').map(({ attributes: { id = '' }, text }) => [id, text.trim()]))

const termsOf = (xml: XmlElement): Terms =>
  new Map(
    childrenOf(xml, 'term_definitions').map((term) => [term.attributes.code ?? '', itemsOf(term)] as const),
  )
