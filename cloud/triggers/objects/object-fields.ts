import { isDeepStrictEqual } from 'node:util'
import Parse from 'parse/node'
import type { ClassKind } from '../../../records/ehr-records/kind.ts'
import type { Permissions } from '../../../records/store/documents/caller.ts'
import { SYSTEM_FIELD_NAMES } from '../../../schemas/common.ts'
import { fromAcl, fromClassForm } from '../../../schemas/forms/class-form.ts'
import type { Validator } from '../../../schemas/validation/validators.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'

// Triggers and rules see the fields of records. This file alone converts them from and to Parse objects.

/** Attributes that Parse sets itself, and those that clients cannot send. */
const READ_ONLY_ATTRIBUTES = new Set<string>([
  ...SYSTEM_FIELD_NAMES.filter((name) => name !== 'version'),
  'ACL',
])

const encodeValue = (Parse as unknown as { _encode(value: unknown): unknown })._encode

/** The attributes that clients see, in class form; null counts as absent. */
export const classFormOf = (object: Parse.Object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object.attributes)
      .filter(([name, value]) => !READ_ONLY_ATTRIBUTES.has(name) && value !== null && value !== undefined)
      .map(([name, value]) => [name, encodeValue(value)]),
  )

/** The fields that clients see, without those of Parse; null counts as absent. */
export const fieldsOf = ({ fields }: ClassKind, object: Parse.Object): Record<string, unknown> =>
  fromClassForm(fields, classFormOf(object))

/** The fields of an object with its id. */
export const recordOf = (
  kind: ClassKind,
  object: Parse.Object,
): Record<string, unknown> & { id: string } => ({ ...fieldsOf(kind, object), id: object.id ?? '' })

/** Checks the class form of an object, or of the given fields. */
export function schemaViolations(
  check: Validator,
  object: Parse.Object,
  names?: readonly string[],
): Violation[] {
  const sent = Object.entries(classFormOf(object))
  return check(Object.fromEntries(names ? sent.filter(([name]) => names.includes(name)) : sent))
}

export const permissionsOf = (object: Parse.Object): Permissions => fromAcl(object.getACL()?.toJSON() ?? {})

/**
 * Takes an ACL sent by a client out of a write, because the service sets the permissions.
 * @param current permissions of the stored object; a client may send them back with the whole object
 * @returns a violation for any other ACL
 */
export function takeOutAcl(object: Parse.Object, current?: Permissions): Violation[] {
  if (!object.dirtyKeys().includes('ACL')) return []
  const sent = permissionsOf(object)
  object.revert('ACL')
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
export function keepChangedFields(object: Parse.Object, original: Parse.Object | undefined): string[] {
  const stored = original ? classFormOf(original) : {}
  const changed = new Set<string>()
  for (const name of object.dirtyKeys()) {
    const root = name.split('.')[0] ?? name
    if (object.get(name) === null) object.unset(name)
    const repeats = name === root && isDeepStrictEqual(encodeValue(object.get(name)), stored[name])
    // The removal of a property that another request may just have set is the client's wish.
    if (repeats && object.get(name) !== undefined) object.revert(name)
    else if (repeats) continue
    else if (!READ_ONLY_ATTRIBUTES.has(root)) changed.add(root)
  }
  return [...changed]
}
