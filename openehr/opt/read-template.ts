import { ServiceError } from '../../schemas/errors.ts'
import { findRmClass } from '../../schemas/openehr/rm-classes.ts'
import type { Violation } from '../../schemas/validation/violations.ts'
import { readXml, type XmlElement } from '../formats/xml.ts'
import { DEMOGRAPHIC_REFUSAL, isDemographic } from '../rm/node-ids.ts'
import type {
  ArchetypeRoot,
  AttributeConstraint,
  ObjectConstraint,
  Template,
  TermDefinitions,
} from './constraints.ts'
import { readPrimitive, readProfileConstraints, readSlot } from './leaf-constraints.ts'
import { childElement, childElements, elementText, readIntegerInterval } from './xml-elements.ts'

/** An operational template nests deeper than its compositions. */
const MAX_TEMPLATE_DEPTH = 400

/** Collects the violations of a template while it is read. */
interface TemplateReading {
  violations: Violation[]
  /** Earlier versions of the service stored templates without a language, and demographic archetypes. */
  isStored: boolean
}

const DEFAULT_LANGUAGE = 'en'

/**
 * Reads an operational template (OPT 1.4).
 * @throws MalformedRequest for malformed XML; InvalidInput for an invalid template, with everything that is
 * missing
 */
export const readTemplate = (bytes: Uint8Array): Template => read(bytes, { violations: [], isStored: false })

/** Reads a template that this version of the service or an earlier one has accepted. */
export const readStoredTemplate = (bytes: Uint8Array): Template =>
  read(bytes, { violations: [], isStored: true })

function read(bytes: Uint8Array, reading: TemplateReading): Template {
  const xml = readXml(bytes, MAX_TEMPLATE_DEPTH, reading.isStored)
  const definition = childElement(xml, 'definition')
  const templateId = requiredText(reading, xml, 'template_id', 'value')
  const concept = requiredText(reading, xml, 'concept')
  const language =
    reading.isStored && elementText(xml, 'language', 'code_string') === ''
      ? DEFAULT_LANGUAGE
      : requiredText(reading, xml, 'language', 'code_string')
  if (xml.name !== 'template')
    addViolation(reading, xml.name, 'root', 'must be an operational template (OPT 1.4)')
  if (definition === undefined) addViolation(reading, 'definition', 'required', 'is required')
  const root = definition && readObjectConstraint(reading, definition, undefined, 'definition')
  if (root && !root.isRoot) addViolation(reading, 'definition.archetype_id', 'required', 'is required')
  if (reading.violations.length > 0 || root === undefined)
    throw new ServiceError('InvalidInput', { violations: reading.violations })
  return { templateId, concept, language, languages: readLanguages(xml, language), root }
}

function readLanguages(xml: XmlElement, language: string): string[] {
  const details = childElements(childElement(xml, 'description'), 'details')
  return [
    ...new Set([language, ...details.map((one) => elementText(one, 'language', 'code_string'))]),
  ].filter(Boolean)
}

function addViolation({ violations }: TemplateReading, path: string, code: string, message: string): void {
  if (violations.length < 100) violations.push({ path, code, message })
}

function requiredText(reading: TemplateReading, xml: XmlElement, ...path: string[]): string {
  const text = elementText(xml, ...path)
  if (text === '') addViolation(reading, path.join('.'), 'required', 'is required')
  else if (text.length > 255)
    addViolation(reading, path.join('.'), 'maxLength', 'must have at most 255 characters')
  return text
}

const NO_ARCHETYPE: ArchetypeRoot = { id: '', terms: new Map() }

function readObjectConstraint(
  reading: TemplateReading,
  xml: XmlElement,
  within: ArchetypeRoot | undefined,
  path: string,
): ObjectConstraint {
  const rmType = elementText(xml, 'rm_type_name')
  const archetypeId = elementText(xml, 'archetype_id', 'value')
  const isRoot = archetypeId !== ''
  if (rmType === '') addViolation(reading, `${path}.rm_type_name`, 'required', 'is required')
  if (isDemographic(archetypeId) && !reading.isStored)
    addViolation(reading, `${path}.archetype_id.value`, 'demographic', DEMOGRAPHIC_REFUSAL)
  const archetype = isRoot ? { id: archetypeId, terms: readTerms(xml) } : (within ?? NO_ARCHETYPE)
  const primitive = readPrimitive(xml)
  if (!primitive && rmType !== '' && xml.type !== 'C_PRIMITIVE_OBJECT' && findRmClass(rmType) === undefined)
    addViolation(reading, `${path}.rm_type_name`, 'class', 'must be a class of the reference model')
  const slot = xml.type === 'ARCHETYPE_SLOT' ? readSlot(xml) : undefined
  return {
    rmType,
    nodeId: elementText(xml, 'node_id'),
    occurrences: readIntegerInterval(childElement(xml, 'occurrences')) ?? {
      lower: 0,
      lowerIncluded: true,
      upperIncluded: true,
    },
    attributes: readAttributes(reading, xml, archetype, path),
    archetype,
    isRoot,
    ...(slot && { slot }),
    ...(primitive && { primitive }),
    ...readProfileConstraints(xml),
  }
}

function readAttributes(
  reading: TemplateReading,
  xml: XmlElement,
  archetype: ArchetypeRoot,
  path: string,
): AttributeConstraint[] {
  return childElements(xml, 'attributes').map((attribute, i) => {
    const place = `${path}.attributes.${i}`
    const name = elementText(attribute, 'rm_attribute_name')
    if (name === '') addViolation(reading, `${place}.rm_attribute_name`, 'required', 'is required')
    const cardinality = readIntegerInterval(childElement(childElement(attribute, 'cardinality'), 'interval'))
    return {
      name,
      existence: readIntegerInterval(childElement(attribute, 'existence')) ?? {
        lowerIncluded: true,
        upperIncluded: true,
      },
      multiple: attribute.type === 'C_MULTIPLE_ATTRIBUTE',
      ...(cardinality && { cardinality }),
      children: childElements(attribute, 'children').map((child, j) =>
        readObjectConstraint(reading, child, archetype, `${place}.children.${j}`),
      ),
    }
  })
}

const readTermItems = (xml: XmlElement): Readonly<Record<string, string>> =>
  Object.fromEntries(
    childElements(xml, 'items').map(({ attributes: { id = '' }, text }) => [id, text.trim()]),
  )

const readTerms = (xml: XmlElement): TermDefinitions =>
  new Map(
    childElements(xml, 'term_definitions').map(
      (term) => [term.attributes.code ?? '', readTermItems(term)] as const,
    ),
  )
