import { isHelperToken } from '../../records/accounts/login/sessions.ts'
import { classKindOf, isClassName } from '../../records/kinds.ts'
import { isReadableByHelper } from '../../records/store/documents/caller.ts'
import type { Acting } from '../../schemas/accounts/helper.ts'
import { markHelped } from '../request/helper-sessions.ts'
import {
  createEndedSessionRefusal,
  type ParseRequest,
  parseErrorCode,
  Refusal,
} from './request/parse-request.ts'
import { isRead, normalizePath, type RequestPart } from './request/request-parts.ts'
import type { IsServedClass } from './request/served-classes.ts'

/** Finds what the helper with this token may do; undefined when the token has ended. */
export type FindActing = (sessionToken: string) => Promise<Acting | undefined>

/**
 * Finds the helper of a request, and marks its user. Parse Server gets none of the user's roles.
 * @throws Refusal when the agreement, or the helper's own session, has ended
 */
export async function recogniseHelper(
  { auth, info }: ParseRequest,
  findActing: FindActing,
): Promise<Acting | undefined> {
  const { sessionToken } = info
  if (sessionToken === undefined || !isHelperToken(sessionToken)) return undefined
  const acting = await findActing(sessionToken)
  // Parse loads no user for routes without a session.
  if (!auth.user) return acting
  if (!acting) throw createEndedSessionRefusal()
  markHelped(auth.user, acting)
  Object.assign(auth, { fetchedRoles: true, userRoles: [] })
  return acting
}

/** The endpoints besides classes that helpers may use. The stores decide about the records of functions, and about writes. */
const ROUTES_FOR_HELPERS = [
  '/logout',
  ...['bmi', 'acq', 'bloodPressureCondition', 'handleAlert'].map((name) =>
    normalizePath(`/functions/${name}`),
  ),
]

/** @throws Refusal for a request that a helper never makes for somebody, and for a class that they may not read */
export function requireOfferedToHelper(acting: Acting, part: RequestPart): void {
  const isOffered = isClassName(part.className) || ROUTES_FOR_HELPERS.includes(normalizePath(part.path))
  if (!isOffered)
    throw new Refusal(
      400,
      parseErrorCode.forbidden,
      'You act for another person. Only they can do this, with a login of their own.',
    )
  if (isRead(part) && !isClassReadableByHelper(acting, part.className))
    throw new Refusal(404, parseErrorCode.notFound, 'Object not found.')
}

const isClassReadableByHelper = (acting: Acting | undefined, className: unknown): boolean =>
  !acting || (isClassName(className) && isReadableByHelper({ acting }, classKindOf(className).helperAct))

/** Tells which classes a request of a helper reads, also through pointers. Without a class, as at log-out, it shows no objects. */
export const createReadCheck =
  (acting: Acting | undefined, parts: readonly RequestPart[]) =>
  (className: unknown): boolean =>
    parts.every((part) => part.className === undefined) || isClassReadableByHelper(acting, className)

/** The classes in the conditions of a helper's queries. */
export const servedToHelper =
  (serves: IsServedClass, acting: Acting | undefined): IsServedClass =>
  (name): name is string =>
    serves(name) && isClassReadableByHelper(acting, name)

/** @throws Refusal for a live query of a class that the helper may not read */
export function requireReadableByHelper(acting: Acting | undefined, className: string): void {
  if (!isClassReadableByHelper(acting, className))
    throw new Refusal(404, parseErrorCode.notFound, 'Object not found.')
}
