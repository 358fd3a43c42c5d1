import { parseUnambiguousJson } from '../../../schemas/json/repeated-names.ts'
import { findRmClass, isSubclassOf, withoutTypeParameters } from '../../../schemas/openehr/rm-classes.ts'
import type { RmObject } from '../../rm/canonical-json.ts'
import type { SimpleNode } from '../simple-tree.ts'
import { completeValue } from './complete-value.ts'
import type { ExpectedValue, Reading } from './expected-value.ts'
import { attributeOfNode, mergedAttribute, terminologyOf, valueParts } from './value-parts.ts'

const isRmClass = (rmType: string): boolean => findRmClass(rmType) !== undefined

/** Reads a value, and takes what it has read away from the node. */
export function readValue(node: SimpleNode, expected: ExpectedValue, reading: Reading): unknown {
  if (!isRmClass(expected.rmType)) return node.take('', 'value')
  const raw = node.take('raw')
  if (raw !== undefined) return readRaw(raw)
  const _type = concreteClass(node, expected)
  const object: RmObject = { _type }
  if (_type === 'PARTICIPATION') moveIdentifiers(node)
  readParts(node, object, reading)
  const isOrdered = isSubclassOf(_type, 'DV_ORDERED')
  const bounds = boundsOf(expected) ?? (isOrdered ? _type : expected.bounds)
  readAttributes(node, object, { ...expected, bounds }, reading)
  const mergedName = mergedAttribute(_type)
  const { type = '' } = (mergedName && findRmClass(_type)?.attributes.get(mergedName)) || {}
  if (mergedName)
    object[mergedName] = readValue(node, { rmType: type, attribute: mergedName, bounds }, reading)
  completeValue(object, node, expected, reading)
  return object
}

/** `|identifiers_issuer:0` of a participation is the same as `/_identifier:0|issuer`. */
function moveIdentifiers(node: SimpleNode): void {
  for (const [name, value] of node.parts) {
    const [, part = '', number] = /^identifiers_(\w+):(\d{1,6})$/.exec(name) ?? []
    if (number === undefined) continue
    node.parts.delete(name)
    node.child('_identifier', Number(number)).parts.set(part, value)
  }
}

/** Canonical JSON in a text. Another text stays, and does not fit the value's class. */
export function readRaw(raw: unknown): unknown {
  try {
    return parseUnambiguousJson(String(raw).replaceAll('"@class"', '"_type"'))
  } catch {
    return raw
  }
}

/** Reads the parts of an object. */
export function readParts(node: SimpleNode, object: RmObject, reading: Reading): void {
  for (const { names, path } of valueParts(object._type)) {
    const value = node.take(...names)
    if (value !== undefined) setAt(object, path, value, reading)
  }
}

/** Reads the nodes that stand for attributes of the object. */
export function readAttributes(
  node: SimpleNode,
  object: RmObject,
  { bounds }: Pick<ExpectedValue, 'bounds'>,
  reading: Reading,
  names = node.names,
): void {
  for (const name of names) {
    const attribute = attributeOfNode(object._type, name)
    const rmAttribute = attribute && findRmClass(object._type)?.attributes.get(attribute)
    if (!attribute || !rmAttribute) continue
    const expected = { rmType: rmAttribute.type, attribute, bounds }
    const values = node.takeAll(name).map((one) => readValue(one, expected, reading))
    object[attribute] = rmAttribute.multiple ? values : values[0]
  }
}

const boundsOf = ({ rmType }: ExpectedValue): string | undefined => /^DV_INTERVAL<(\w+)>$/.exec(rmType)?.[1]

/** The class of the object that a node describes. */
function concreteClass(node: SimpleNode, { rmType, bounds, isOpen }: ExpectedValue): string {
  const has = (...names: string[]): boolean => names.some((name) => node.parts.has(name))
  const type = withoutTypeParameters(rmType)
  switch (type) {
    case 'PARTY_PROXY':
    case 'PARTY_IDENTIFIED': {
      const typeName = node.take('_type')
      if (typeof typeName === 'string' && isSubclassOf(typeName, type)) return typeName
      if (node.children.has('relationship') || node.children.has('_relationship')) return 'PARTY_RELATED'
      const isIdentified = has('name', 'id') || node.children.has('_identifier')
      return isIdentified || type === 'PARTY_IDENTIFIED' ? 'PARTY_IDENTIFIED' : 'PARTY_SELF'
    }
    case 'DV_TEXT':
      return has('code', 'terminology') ? 'DV_CODED_TEXT' : 'DV_TEXT'
    case 'DV_CODED_TEXT':
      return has('other') || (isOpen && !has('code')) ? 'DV_TEXT' : 'DV_CODED_TEXT'
    case 'DV_ORDERED':
      return bounds ?? (has('magnitude') ? 'DV_QUANTITY' : 'DV_DATE_TIME')
    case 'DV_ENCAPSULATED':
      return has('mediatype', 'size') ? 'DV_MULTIMEDIA' : 'DV_PARSABLE'
    case 'UID_BASED_ID':
      return String(node.parts.get('')).includes('::') ? 'OBJECT_VERSION_ID' : 'HIER_OBJECT_ID'
    default:
      return type
  }
}

/** Sets a value below a path of attributes, and makes the objects on it. */
function setAt(object: RmObject, path: readonly string[], value: unknown, reading: Reading): void {
  let place = object
  for (const name of path.slice(0, -1)) {
    if (name === 'defining_code') place._type = 'DV_CODED_TEXT'
    const type = findRmClass(place._type)?.attributes.get(name)?.type ?? ''
    place[name] ??= type === 'OBJECT_ID' ? newObjectId(place, value, reading) : newObject(type, name, reading)
    place = place[name] as RmObject
  }
  const name = path.at(-1) as string
  if (name === 'scheme') place._type = 'GENERIC_ID'
  place[name] = value
}

/** References to versions have their ids, those to persons ids of other systems. An id with a scheme is a GENERIC_ID. */
function newObjectId({ _type }: RmObject, value: unknown, { idScheme }: Reading): RmObject {
  if (String(value).includes('::')) return { _type: 'OBJECT_VERSION_ID' }
  return idScheme !== undefined && _type !== 'LOCATABLE_REF'
    ? { _type: 'GENERIC_ID', scheme: idScheme }
    : { _type: 'HIER_OBJECT_ID' }
}

function newObject(type: string, attribute: string, { idNamespace }: Reading): RmObject {
  if (type === 'PARTY_REF')
    return { _type: type, type: 'PARTY', ...(idNamespace && { namespace: idNamespace }) }
  if (type === 'LOCATABLE_REF') return { _type: type, namespace: 'local', type: 'COMPOSITION' }
  const terminology = type === 'CODE_PHRASE' ? terminologyOf(attribute) : undefined
  return {
    _type: type,
    ...(terminology && { terminology_id: { _type: 'TERMINOLOGY_ID', value: terminology } }),
  }
}
