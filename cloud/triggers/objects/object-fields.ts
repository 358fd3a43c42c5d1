import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import type { Permissions } from '../../../records/store/documents/caller.ts'
import { SYSTEM_FIELD_NAMES } from '../../../schemas/common.ts'
import { fromAcl } from '../../../schemas/forms/class-form.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

// Triggers see objects of Parse. This file alone reads them.

/** Properties that Parse sets itself. */
const PARSE_PROPERTIES = new Set<string>([
  ...SYSTEM_FIELD_NAMES.filter((name) => name !== 'version'),
  ...['id', 'ACL'],
])

const encodeValue = (Parse as unknown as { _encode(value: unknown): unknown })._encode

/** The attributes that clients see, in class form; null counts as absent. */
export const classFormOf = (object: Parse.Object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object.attributes)
      .filter(([name, value]) => !PARSE_PROPERTIES.has(name) && value !== null && value !== undefined)
      .map(([name, value]) => [name, encodeValue(value)]),
  )

/** The properties of a body or an object, without those that Parse sets itself. */
export const ownProperties = (body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !PARSE_PROPERTIES.has(name)))

export const permissionsOf = (object: Parse.Object): Permissions => fromAcl(object.getACL()?.toJSON() ?? {})

/**
 * Refuses an ACL, because the service sets the permissions.
 * @param current permissions of the stored object; a client may send them back with the whole object
 */
export function aclViolations(sent: Permissions, current?: Permissions): Violation[] {
  const isCurrent = current && isDeepStrictEqual(sortPermissions(sent), sortPermissions(current))
  return isCurrent ? [] : [{ path: 'ACL', code: 'fixed', message: ACL_MESSAGE }]
}

const ACL_MESSAGE =
  'must not be set by clients: permissions follow from the EHR and from the participants of the care plan'

const sortPermissions = ({ read, write }: Permissions) => [[...read].sort(), [...write].sort()]

/**
 * Returns the fields that an update changes; `payload.x` changes `payload`. Null removes a field. Values equal
 * to the stored ones are dropped from the update, because clients may send back the whole object.
 */
export function keepChangedFields(object: Parse.Object, original: Parse.Object): string[] {
  const stored = classFormOf(original)
  const changed = new Set<string>()
  for (const name of object.dirtyKeys()) {
    const root = name.split('.')[0] ?? name
    if (object.get(name) === null) object.unset(name)
    const repeats = name === root && isDeepStrictEqual(encodeValue(object.get(name)), stored[name])
    // The removal of a property that another request may just have set is the client's wish.
    if (repeats && object.get(name) !== undefined) object.revert(name)
    else if (!repeats && !PARSE_PROPERTIES.has(root)) changed.add(root)
  }
  return [...changed]
}
