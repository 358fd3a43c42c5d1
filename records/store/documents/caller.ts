import type { AppPermit } from '../../../schemas/accounts/app.ts'
import type { ActingHelper } from '../../../schemas/accounts/helper.ts'
import type { HelperAct } from '../../../schemas/enums.ts'
import { ServiceError } from '../../../schemas/errors.ts'
import type { Admission } from '../../limits/admission/admission-control.ts'

/** The user who sends a request, with the application and roles: all that access rules and audit need. */
export interface Caller {
  userId: string
  /** Names of all roles that the user holds, inherited ones included; without the prefix `role:`. */
  roles: readonly string[]
  /** The application that sent the request, as shown in the audit. */
  application: string
  requestId: string
  /** Set when a helper acts for the user: the rights are the user's, the helper is the author. */
  helper?: ActingHelper | undefined
  /** The admission of the request, by which long work pauses for others; undefined: the service's own work. */
  admission?: Pick<Admission, 'pause'>
  /** Called with the id of each EHR whose data the caller reached, and of each connected user. */
  onAccess?(id: string): void
  /** Set for an app: what it may do at most, of what its user may do. */
  app?: AppPermit | undefined
  /** The permission entry of the only EHR whose records the caller reaches; undefined: all that the rights permit. */
  compartment?: string | undefined
  /** Set for the service's own jobs and for restores by administrators: no access filter, but audited. */
  unrestricted?: true
}

/** The service itself as the caller, beyond the rights of any user. */
export const serviceCaller: Caller = {
  userId: '',
  roles: [],
  application: 'service',
  requestId: '',
  unrestricted: true,
}

/** The user who carries out a request, and the user for whom a helper does so. */
export interface Author {
  userId: string
  onBehalfOf?: string
}

export const authorOf = ({ userId, helper }: Pick<Caller, 'userId' | 'helper'>): Author =>
  helper ? { userId: helper.helperId, onBehalfOf: userId } : { userId }

/** Helpers read everything except messages, which need a grant of their own. */
export const isReadableByHelper = ({ helper }: Pick<Caller, 'helper'>, act: HelperAct | undefined): boolean =>
  !helper || act !== 'MESSAGES' || helper.acts.includes(act)

/** @param act the grant that a write needs; undefined: no helper may write. @throws Forbidden without the grant */
export function requireWritableByHelper({ helper }: Caller, act: HelperAct | undefined): void {
  if (helper && (act === undefined || !helper.acts.includes(act)))
    throw new ServiceError('Forbidden', {
      detail: 'You act for another person, who has not granted you this.',
    })
}

/** For what a helper can never do. */
export const NOT_FOR_HELPERS_MESSAGE =
  'You act for another person. Only this person can do this, when logged in.'

export const isAdmin = ({ roles }: Pick<Caller, 'roles'>): boolean => roles.includes('admin')

/** Readers and writers of a record: user ids, `role:<name>`, or `*` for everyone. */
export interface Permissions {
  read: readonly string[]
  write: readonly string[]
}

/** The entries of `_rperm` and `_wperm` that match a caller. */
function permissionKeysOf({ userId, roles }: Caller): string[] {
  return ['*', userId, ...roles.map((role) => `role:${role}`)]
}

/** The entries of which a record must have one to lie in the compartment of a caller; what everyone reads is no patient's. */
const compartmentKeysOf = (compartment: string): string[] => ['*', compartment]

/** Filter for documents that a caller may read or write. Unlike in Parse, a missing list means nobody. */
export function permissionFilter(
  field: '_rperm' | '_wperm',
  caller: Caller,
): { [field: string]: { $in: string[]; $elemMatch?: { $in: string[] } } } {
  const { unrestricted, compartment } = caller
  if (unrestricted) return {}
  const within = compartment !== undefined && { $elemMatch: { $in: compartmentKeysOf(compartment) } }
  return { [field]: { $in: permissionKeysOf(caller), ...within } }
}

/** Checks a loaded permission list in the same way as {@link permissionFilter}. */
export function isPermitted(allowedKeys: readonly string[] | undefined, caller: Caller): boolean {
  const { unrestricted, compartment } = caller
  if (unrestricted) return true
  const has = (keys: readonly string[]) => keys.some((key) => allowedKeys?.includes(key))
  return has(permissionKeysOf(caller)) && (compartment === undefined || has(compartmentKeysOf(compartment)))
}
