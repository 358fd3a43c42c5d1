import { isDeepStrictEqual } from 'node:util'
import type { Values } from '../../../records/ehr-records/kind.ts'
import type { Permissions } from '../../../records/store/documents/caller.ts'
import { SYSTEM_FIELD_NAMES } from '../../../schemas/common.ts'
import { type Acl, fromAcl, withoutOtherUsers } from '../../../schemas/forms/class-form.ts'
import type { Validator } from '../../../schemas/validation/validators.ts'
import type { Violation } from '../../../schemas/validation/violations.ts'
import type { ClassForm } from '../../parse-server/adapter/object-conversion.ts'
import { rootOf } from '../../writes/apply-update.ts'

/** Properties that Parse sets itself. */
export const PARSE_PROPERTIES = new Set<string>([
  ...SYSTEM_FIELD_NAMES.filter((name) => name !== 'version'),
  'id',
  'ACL',
])

/** The properties of a body or an object, without those that Parse sets itself. */
export const ownProperties = (body: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !PARSE_PROPERTIES.has(name)))

/** Refuses unknown names that a body deletes or sets to null: no value of theirs reaches the check. */
export const deletedNameViolations = (body: Values, next: Values, check: Validator): Violation[] => {
  const names = Object.keys(body).map(rootOf)
  const deletedValues = names.filter((name) => next[name] === undefined).map((name) => [name, null])
  return check(Object.fromEntries(deletedValues)).filter(({ code }) => code === 'unknown')
}

export const FIXED_ID_VIOLATION = { path: 'objectId', code: 'fixed', message: 'cannot be changed' }

/** Refuses changed times of an object. Clients may send them back, as text or as Date. */
export const timeViolations = (body: ClassForm, stored: ClassForm): Violation[] =>
  ['createdAt', 'updatedAt']
    .filter((name) => body[name] !== undefined && millisecondsOf(body[name]) !== millisecondsOf(stored[name]))
    .map((path) => ({ path, code: 'fixed', message: 'cannot be changed' }))

const millisecondsOf = (time: unknown): number =>
  Date.parse(String((time as { iso?: unknown } | null)?.iso ?? time))

/**
 * Refuses an ACL, because the service sets the permissions.
 * @param current ACL of the stored object; a user may send it back with the whole object, in the form that they got
 */
export function aclViolations(acl: ClassForm['ACL'], current?: Acl, userId = ''): Violation[] {
  const isSame = (other: Acl) =>
    isDeepStrictEqual(sortPermissions(fromAcl(acl ?? {})), sortPermissions(fromAcl(other)))
  const isCurrent = current && (isSame(current) || isSame(withoutOtherUsers(current, userId)))
  return acl === undefined || isCurrent ? [] : [{ path: 'ACL', code: 'fixed', message: ACL_MESSAGE }]
}

const ACL_MESSAGE =
  'must not be set by clients: permissions follow from the EHR and from the participants of the care plan'

const sortPermissions = ({ read, write }: Permissions) => [[...read].sort(), [...write].sort()]
