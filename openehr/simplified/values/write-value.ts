import { isDeepStrictEqual } from 'node:util'
import { findRmClass, isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'
import { SimpleNode } from '../simple-tree.ts'
import type { ExpectedValue } from './expected-value.ts'
import { readValue } from './read-value.ts'
import { mergedAttribute, nodeNameOf, valueParts } from './value-parts.ts'

/** Writes a value; as canonical JSON (`|raw`) if a reader would not get it back from its parts. */
export function writeValue(value: unknown, node: SimpleNode, expected: ExpectedValue): void {
  if (isRmObject(value) && !isReadBack(value, expected)) node.parts.set('raw', JSON.stringify(value))
  else writePlain(value, node)
}

function isReadBack(value: RmObject, expected: ExpectedValue): boolean {
  const node = new SimpleNode()
  writePlain(value, node)
  return isDeepStrictEqual(readValue(node, expected, { currentTime: '' }), value) && node.isEmpty
}

/** Writes a value: its parts, and nodes for its further attributes. A structure of an archetype has neither. */
function writePlain(value: unknown, node: SimpleNode): void {
  if (isRmObject(value) && isSubclassOf(value._type, 'LOCATABLE')) {
    node.parts.set('raw', JSON.stringify(value))
    return
  }
  if (!isRmObject(value)) {
    if (['string', 'number', 'boolean'].includes(typeof value)) node.parts.set('', value as string)
    return
  }
  const writtenAttributes = writeParts(value, node)
  writeNodes(value, node, (attribute) => !writtenAttributes.has(attribute), writePlain)
}

/** @returns the attributes of which the parts say all */
export function writeParts(object: RmObject, node: SimpleNode): Set<string> {
  const writtenAttributes = new Set<string>()
  if (object._type === 'PARTY_SELF') node.parts.set('_type', object._type)
  for (const { names, path } of valueParts(object._type)) {
    writtenAttributes.add(path[0])
    const part = path.reduce<unknown>((one, name) => (isRmObject(one) ? one[name] : undefined), object)
    if (part === undefined || isRmObject(part) || isUsual(object, path, part)) continue
    node.parts.set(names[0], part as string)
  }
  return writtenAttributes
}

/** The reader's defaults: a bound that exists is included, and one that is missing is unbounded. */
function isUsual(object: RmObject, path: readonly string[], part: unknown): boolean {
  const place = path.join('.')
  if (place === 'symbol.defining_code.terminology_id.value') return part === 'local'
  if (place === 'external_ref.type') return part === 'PARTY'
  const [, end, flag] = /^(lower|upper)_(included|unbounded)$/.exec(path[0] ?? '') ?? []
  if (object._type !== 'DV_INTERVAL' || end === undefined) return false
  const isBound = object[end] !== undefined
  return part === (flag === 'included' ? isBound : !isBound)
}

/** Writes nodes for those attributes. */
export const writeAttributes = (
  object: RmObject,
  node: SimpleNode,
  isWanted: (attribute: string) => boolean,
): void => writeNodes(object, node, isWanted, writeValue)

function writeNodes(
  object: RmObject,
  node: SimpleNode,
  isWanted: (attribute: string) => boolean,
  write: typeof writeValue,
): void {
  const mergedName = mergedAttribute(object._type)
  for (const { name: attribute, multiple, type: rmType } of findRmClass(object._type)?.attributes.values() ??
    []) {
    const values = [object[attribute]].flat().filter((one) => one !== undefined && !isEmptyStructure(one))
    if (!isWanted(attribute) || values.length === 0) continue
    const expected = { rmType, attribute }
    if (attribute === mergedName) write(values[0], node, expected)
    else {
      const isMedia = attribute === 'original_content' && (values[0] as RmObject)._type === 'DV_MULTIMEDIA'
      const nodeName = isMedia ? 'original_content_multimedia' : nodeNameOf(object._type, attribute)
      for (const [i, one] of values.entries()) write(one, node.child(nodeName, i, multiple), expected)
    }
  }
}

/** Attributes of an object of an archetype that say nothing by themselves. */
const NAMING_ATTRIBUTES = new Set(['_type', 'archetype_node_id', 'archetype_details', 'name'])

const isEmptyStructure = (value: unknown): boolean =>
  isRmObject(value) &&
  isSubclassOf(value._type, 'LOCATABLE') &&
  Object.keys(value).every((name) => NAMING_ATTRIBUTES.has(name))
