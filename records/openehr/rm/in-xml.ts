import { escapedAttribute, escapedText, type XmlElement } from '../formats/xml.ts'
import type { RmObject } from './canonical.ts'
import { type RmClass, rmClass } from './classes.ts'
import { primitives } from './primitives.ts'

/** What programs write into XML although it follows from the rest. */
const DERIVED = new Set([
  'qualifiedRmEntity',
  'domainConcept',
  'rmOriginator',
  'rmName',
  'rmEntity',
  'versionId',
  'specialisation',
])

/** Names that the XML schema of 1.0.2 has in place of those of the model. */
const RENAMED: Readonly<Record<string, string>> = { work_flow_id: 'workflow_id' }

/**
 * The canonical JSON that an element says. Nothing is judged here: what does not fit the model comes out as it can, for
 * `canonical` to find.
 */
export function jsonOf(element: XmlElement, declared: string): unknown {
  if (primitives[declared] !== undefined) return element.children.length > 0 ? {} : element.text
  const json: Record<string, unknown> = Object.create(null)
  if (element.type !== undefined) json._type = element.type
  const rm = rmClass(element.type ?? guessed(element, declared))
  for (const [name, value] of Object.entries(element.attributes)) json[name] = value
  for (const child of element.children) addChild(json, child, rm)
  return json
}

/** The class whose attributes an element without a type has. */
function guessed({ children }: XmlElement, declared: string): string {
  const has = (name: string) => children.some((child) => child.name === name)
  if (declared === 'DV_TEXT' && has('defining_code')) return 'DV_CODED_TEXT'
  if (declared === 'EVENT') return has('width') ? 'INTERVAL_EVENT' : 'POINT_EVENT'
  if (declared === 'OBJECT_ID') return 'GENERIC_ID'
  if (declared === 'ITEM') return has('items') ? 'CLUSTER' : 'ELEMENT'
  return declared
}

function addChild(json: Record<string, unknown>, child: XmlElement, rm: RmClass | undefined): void {
  const name = RENAMED[child.name] ?? child.name
  if (DERIVED.has(name)) return
  const attribute = rm?.attributes.get(name)
  const value = jsonOf(child, attribute?.type ?? 'String')
  if (attribute?.multiple) json[name] = [...((json[name] as unknown[] | undefined) ?? []), value]
  // Twice what there is once: an array is what `canonical` refuses.
  else json[name] = name in json ? [json[name], value] : value
}

const NAMESPACES =
  'xmlns="http://schemas.openehr.org/v1" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'

/** An object of the model as an XML document with this element as its root. */
export function xmlOf(object: RmObject, root: string): string {
  const parts = ['<?xml version="1.0" encoding="UTF-8"?>\n']
  writeObject(parts, root, object, object._type, ` ${NAMESPACES}`)
  return parts.join('')
}

function writeObject(parts: string[], tag: string, object: RmObject, declared: string, head = ''): void {
  const rm = rmClass(object._type) as RmClass
  const type = object._type === declared ? '' : ` xsi:type="${object._type}"`
  const attributes = [...rm.attributes.values()]
  const inTag = attributes
    .filter(({ inTag, name }) => inTag && object[name] !== undefined)
    .map(({ name }) => ` ${name}="${escapedAttribute(String(object[name]))}"`)
  parts.push(`<${tag}${head}${type}${inTag.join('')}>`)
  for (const attribute of attributes) {
    if (attribute.inTag || object[attribute.name] === undefined) continue
    const values = attribute.multiple ? (object[attribute.name] as unknown[]) : [object[attribute.name]]
    for (const value of values) writeValue(parts, attribute.name, value, attribute.type)
  }
  parts.push(`</${tag}>`)
}

function writeValue(parts: string[], tag: string, value: unknown, declared: string): void {
  if (typeof value === 'object' && value !== null) writeObject(parts, tag, value as RmObject, declared)
  else parts.push(`<${tag}>${escapedText(String(value))}</${tag}>`)
}
