import { type Acl, withoutOtherUsers } from '../../schemas/forms/class-form.ts'

/**
 * An object in class form as a user gets it.
 * @see docs/decisions/anonymous-plans.md
 */
export function showTo(userId: string, object: object): object {
  const { ACL } = object as { ACL?: Acl }
  return ACL === undefined ? object : { ...object, ACL: withoutOtherUsers(ACL, userId) }
}
