import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import type { Permissions } from '../../../records/store/documents/caller.ts'
import { SYSTEM_FIELD_NAMES } from '../../../schemas/common.ts'

/** Attributes that Parse sets itself, and those that clients cannot send. */
const READ_ONLY_ATTRIBUTES = new Set<string>([
  ...SYSTEM_FIELD_NAMES.filter((name) => name !== 'version'),
  'ACL',
])

const encodeValue = (Parse as unknown as { _encode(value: unknown): unknown })._encode

/** Properties that clients see, without those of Parse; null counts as absent. */
export const clientValuesOf = (object: Parse.Object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object.attributes)
      .filter(([name, value]) => !READ_ONLY_ATTRIBUTES.has(name) && value !== null && value !== undefined)
      .map(([name, value]) => [name, encodeValue(value)]),
  )

const decodeValue = (Parse as unknown as { _decode(key: string, value: unknown): unknown })._decode

/** Converts values to object attributes. */
export const toAttributes = (values: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decodeValue(name, value)]))

export function permissionsOf(object: Parse.Object): Permissions {
  const entries = Object.entries(object.getACL()?.toJSON() ?? {})
  const those = (right: 'read' | 'write') =>
    entries.flatMap(([who, rights]) => (rights?.[right] ? [who] : []))
  return { read: those('read'), write: those('write') }
}

/** Drops an ACL sent by a client: the service sets permissions. */
export const discardAcl = (object: Parse.Object): void => object.revert('ACL')

/**
 * Returns the properties that an update changes; `payload.x` changes `payload`. Null removes a property.
 * Values equal to the stored ones are dropped from the update, because clients may send back the whole
 * object.
 */
export function keepChangedProperties(object: Parse.Object, stored: Record<string, unknown>): string[] {
  const changed = new Set<string>()
  for (const name of object.dirtyKeys()) {
    const root = name.split('.')[0] ?? name
    if (object.get(name) === null) object.unset(name)
    const repeats = name === root && isDeepStrictEqual(encodeValue(object.get(name)), stored[name])
    if (repeats) object.revert(name)
    else if (!READ_ONLY_ATTRIBUTES.has(root)) changed.add(root)
  }
  return [...changed]
}
