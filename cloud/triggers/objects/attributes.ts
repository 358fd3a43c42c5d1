import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import type { Permissions } from '../../../records/store/documents/caller.ts'
import { KEPT } from '../../../schemas/common.ts'

/** What Parse sets on its own, besides what nobody may send. */
const NOT_SENT = new Set<string>([...KEPT.filter((name) => name !== 'version'), 'ACL'])

const encode = (Parse as unknown as { _encode(value: unknown): unknown })._encode

/** An object's properties as clients see them, without what Parse keeps; null counts as absent. */
export const valuesOf = (object: Parse.Object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object.attributes)
      .filter(([name, value]) => !NOT_SENT.has(name) && value !== null && value !== undefined)
      .map(([name, value]) => [name, encode(value)]),
  )

const decode = (Parse as unknown as { _decode(key: string, value: unknown): unknown })._decode

/** Values in the form in which clients see them as an object's properties. */
export const attributesOf = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decode(name, value)]))

/** Who may read and write an object. */
export function permissionsOf(object: Parse.Object): Permissions {
  const entries = Object.entries(object.getACL()?.toJSON() ?? {})
  const those = (right: 'read' | 'write') =>
    entries.flatMap(([who, rights]) => (rights?.[right] ? [who] : []))
  return { read: those('read'), write: those('write') }
}

/** The permissions of an object are the service's affair: what a client sent is dropped. */
export const dropAcl = (object: Parse.Object): void => object.revert('ACL')

/**
 * The properties that an update changes; `payload.x` changes `payload`. Null removes, and a value that is
 * already stored is taken out of the update: clients may send back the whole object that they read.
 */
export function changedProperties(object: Parse.Object, stored: Record<string, unknown>): string[] {
  const changed = new Set<string>()
  for (const name of object.dirtyKeys()) {
    const root = name.split('.')[0] ?? name
    if (object.get(name) === null) object.unset(name)
    const repeats = name === root && isDeepStrictEqual(encode(object.get(name)), stored[name])
    if (repeats) object.revert(name)
    else if (!NOT_SENT.has(root)) changed.add(root)
  }
  return [...changed]
}
