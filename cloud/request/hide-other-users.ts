import { type Acl, withoutOtherUsers } from '../../schemas/forms/class-form.ts'

/**
 * Removes other users from the ACL of an object in class form.
 * @see docs/decisions/anonymous-plans.md
 */
export function hideOtherUsers(object: object, userId: string): object {
  const { ACL } = object as { ACL?: Acl }
  return ACL === undefined ? object : { ...object, ACL: withoutOtherUsers(ACL, userId) }
}
