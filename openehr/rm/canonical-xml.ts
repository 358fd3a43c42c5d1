import { findRmClass, findWrittenClass, type RmClass } from '../../schemas/openehr/rm-classes.ts'
import { lookUp } from '../../schemas/validation/look-up.ts'
import { escapeAttribute, escapeText, type XmlElement } from '../formats/xml.ts'
import type { RmObject } from './canonical-json.ts'
import { primitiveReaders } from './primitives.ts'

/** Elements that programs write although they can be derived. */
const DERIVED_ELEMENTS = new Set([
  'qualifiedRmEntity',
  'domainConcept',
  'rmOriginator',
  'rmName',
  'rmEntity',
  'versionId',
  'specialisation',
])

/** Names in the XML schema 1.0.2 that differ from the model. */
const RENAMED_ELEMENTS: Readonly<Record<string, string>> = { work_flow_id: 'workflow_id' }

/**
 * Converts an XML element to canonical JSON. It does not validate: `readCanonicalJson` reports what violates
 * the model.
 */
export function xmlToJson(element: XmlElement, declaredType: string): unknown {
  if (primitiveReaders[declaredType] !== undefined) return element.children.length > 0 ? {} : element.text
  const json: Record<string, unknown> = Object.create(null)
  if (element.type !== undefined) json._type = element.type
  const rm = findRmClass(element.type ?? guessClass(element, declaredType))
  for (const [name, value] of Object.entries(element.attributes)) json[name] = value
  for (const child of element.children) addChild(json, child, rm)
  return json
}

/** Guesses the class of an element without a type. */
function guessClass({ children }: XmlElement, declaredType: string): string {
  const has = (name: string) => children.some((child) => child.name === name)
  if (declaredType === 'DV_TEXT' && has('defining_code')) return 'DV_CODED_TEXT'
  if (declaredType === 'EVENT') return has('width') ? 'INTERVAL_EVENT' : 'POINT_EVENT'
  if (declaredType === 'OBJECT_ID') return 'GENERIC_ID'
  if (declaredType === 'ITEM') return has('items') ? 'CLUSTER' : 'ELEMENT'
  return declaredType
}

function addChild(json: Record<string, unknown>, child: XmlElement, rm: RmClass | undefined): void {
  const name = lookUp(RENAMED_ELEMENTS, child.name) ?? child.name
  if (DERIVED_ELEMENTS.has(name)) return
  const attribute = rm?.attributes.get(name)
  const value = xmlToJson(child, attribute?.type ?? 'String')
  if (attribute?.multiple) json[name] = [...((json[name] as unknown[] | undefined) ?? []), value]
  // A repeated single attribute becomes an array, which `readCanonicalJson` refuses.
  else json[name] = Object.hasOwn(json, name) ? [json[name], value] : value
}

const NAMESPACES =
  'xmlns="http://schemas.openehr.org/v1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

/** The types of root elements that the XML schema declares as a superclass. */
const DECLARED_TYPES: Readonly<Record<string, string>> = { ORIGINAL_VERSION: 'VERSION' }

/** An object of the model as an XML document with this root element. */
export function toXml(object: RmObject, root: string): string {
  const parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
  writeObject(parts, root, object, DECLARED_TYPES[object._type] ?? object._type, ` ${NAMESPACES}`)
  return parts.join('')
}

function writeObject(parts: string[], tag: string, object: RmObject, declaredType: string, head = ''): void {
  const rm = findWrittenClass(object._type) as RmClass
  const type = object._type === declaredType ? '' : ` xsi:type="${object._type}"`
  const attributes = [...rm.attributes.values()]
  const inTag = attributes
    .filter(({ inTag, name }) => inTag && object[name] !== undefined)
    .map(({ name }) => ` ${name}="${escapeAttribute(String(object[name]))}"`)
  parts.push(`<${tag}${head}${type}${inTag.join('')}>`)
  for (const attribute of attributes) {
    if (attribute.inTag || object[attribute.name] === undefined) continue
    const values = attribute.multiple ? (object[attribute.name] as unknown[]) : [object[attribute.name]]
    for (const value of values) writeXmlValue(parts, attribute.name, value, attribute.type)
  }
  parts.push(`</${tag}>`)
}

function writeXmlValue(parts: string[], tag: string, value: unknown, declaredType: string): void {
  if (typeof value === 'object' && value !== null) writeObject(parts, tag, value as RmObject, declaredType)
  else parts.push(`<${tag}>${escapeText(String(value))}</${tag}>`)
}
