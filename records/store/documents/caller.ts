/** Who asks, by which application, in which request: what the access rule and the audit need to know. */
export interface Caller {
  userId: string
  /** Names of all roles that the user holds, inherited ones included; without the prefix `role:`. */
  roles: readonly string[]
  /** The application or client that sent the request, as the audit shows it. */
  application: string
  requestId: string
  /** Told of each EHR of whose data the caller was let reach something, and of each user with whom they are connected. */
  onAccess?(id: string): void
  /** Set for the service's own jobs and an administrator's restore: no access filter, audited all the same. */
  unrestricted?: true
}

export const isAdmin = ({ roles }: Pick<Caller, 'roles'>): boolean => roles.includes('admin')

/** Who may read and who may write a record: user ids, `role:<name>`, or `*` for everyone. */
export interface Permissions {
  read: readonly string[]
  write: readonly string[]
}

/** The entries of `_rperm` and `_wperm` that let a caller in. */
const keysOf = (caller: Caller): string[] => [
  '*',
  caller.userId,
  ...caller.roles.map((role) => `role:${role}`),
]

/** The query for what a caller may read (`_rperm`) or write (`_wperm`). Unlike in Parse, none listed is nobody. */
export function permitted(
  field: '_rperm' | '_wperm',
  caller: Caller,
): { [field: string]: { $in: string[] } } {
  return caller.unrestricted ? {} : { [field]: { $in: keysOf(caller) } }
}

/** The same for a list at hand. */
export function isPermitted(listed: readonly string[] | undefined, caller: Caller): boolean {
  return caller.unrestricted === true || keysOf(caller).some((key) => listed?.includes(key))
}
