import { findRmClass, isSubclassOf } from '../../../schemas/openehr/rm-classes.ts'
import { isRmObject, type RmObject } from '../../rm/canonical-json.ts'
import type { SimpleNode } from '../simple-tree.ts'
import { mergedAttribute, nodeNameOf, valueParts } from './value-parts.ts'

/** Writes a value: its parts, and nodes for its further attributes. */
export function writeValue(value: unknown, node: SimpleNode): void {
  if (!isRmObject(value)) {
    if (['string', 'number', 'boolean'].includes(typeof value)) node.parts.set('', value as string)
    return
  }
  const writtenAttributes = writeParts(value, node)
  writeAttributes(value, node, (attribute) => !writtenAttributes.has(attribute))
}

/** @returns the attributes of which the parts say all */
export function writeParts(object: RmObject, node: SimpleNode): Set<string> {
  const writtenAttributes = new Set<string>()
  if (object._type === 'PARTY_SELF') node.parts.set('_type', object._type)
  for (const { names, path } of valueParts(object._type)) {
    writtenAttributes.add(path[0])
    const found = path.reduce<unknown>((one, name) => (isRmObject(one) ? one[name] : undefined), object)
    if (found === undefined || isRmObject(found) || isUsual(object, path, found)) continue
    node.parts.set(names[0], found as string)
  }
  return writtenAttributes
}

/** The reader's defaults: a bound that exists is included, and one that is missing is unbounded. */
function isUsual(object: RmObject, path: readonly string[], found: unknown): boolean {
  if (path.join('.') === 'symbol.defining_code.terminology_id.value') return found === 'local'
  const [, end, flag] = /^(lower|upper)_(included|unbounded)$/.exec(path[0] ?? '') ?? []
  if (object._type !== 'DV_INTERVAL' || end === undefined) return false
  const isBound = object[end] !== undefined
  return found === (flag === 'included' ? isBound : !isBound)
}

/** Writes nodes for those attributes. Structures of archetypes have no nodes of this kind. */
export function writeAttributes(
  object: RmObject,
  node: SimpleNode,
  isWanted: (attribute: string) => boolean,
): void {
  const mergedName = mergedAttribute(object._type)
  for (const { name, multiple } of findRmClass(object._type)?.attributes.values() ?? []) {
    const values = [object[name]].flat().filter((one) => one !== undefined && !isStructure(one))
    if (!isWanted(name) || values.length === 0) continue
    if (name === mergedName) writeValue(values[0], node)
    else {
      const isMedia = name === 'original_content' && (values[0] as RmObject)._type === 'DV_MULTIMEDIA'
      const nodeName = isMedia ? 'original_content_multimedia' : nodeNameOf(object._type, name)
      for (const [i, one] of values.entries()) writeValue(one, node.child(nodeName, i, multiple))
    }
  }
}

const isStructure = (value: unknown): boolean => isRmObject(value) && isSubclassOf(value._type, 'LOCATABLE')
