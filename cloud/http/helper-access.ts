import { isHelperToken } from '../../records/accounts/login/sessions.ts'
import { classKindOf, isClassName } from '../../records/kinds.ts'
import { isReadableByHelper, NOT_FOR_HELPERS_MESSAGE } from '../../records/store/documents/caller.ts'
import type { ActingHelper } from '../../schemas/accounts/helper.ts'
import { attachHelper } from '../request/helper-sessions.ts'
import {
  createEndedSessionRefusal,
  type ParseRequest,
  parseErrorCode,
  Refusal,
} from './request/parse-request.ts'
import { isRead, normalizePath, type RequestPart } from './request/request-parts.ts'
import type { IsServedClass } from './request/served-classes.ts'

/** Finds what the helper with this token may do; undefined when the token has ended. */
export type FindHelper = (sessionToken: string) => Promise<ActingHelper | undefined>

/**
 * Finds the helper of a request, and marks its user. Parse Server gets none of the user's roles.
 * @throws Refusal when the agreement, or the helper's own session, has ended
 */
export async function authenticateHelper(
  { auth, info }: ParseRequest,
  findHelper: FindHelper,
): Promise<ActingHelper | undefined> {
  const { sessionToken } = info
  if (sessionToken === undefined || !isHelperToken(sessionToken)) return undefined
  const helper = await findHelper(sessionToken)
  // Parse loads no user for routes without a session.
  if (!auth.user) return helper
  if (!helper) throw createEndedSessionRefusal()
  attachHelper(auth.user, helper)
  Object.assign(auth, { fetchedRoles: true, userRoles: [] })
  return helper
}

/** The endpoints besides classes that helpers may use. The stores decide about the records of functions, and about writes. */
const ROUTES_FOR_HELPERS = [
  '/logout',
  ...['bmi', 'acq', 'bloodPressureCondition', 'handleAlert'].map((name) =>
    normalizePath(`/functions/${name}`),
  ),
]

/** @throws Refusal for a request that a helper never makes for somebody, and for a class that they may not read */
export function requireOfferedToHelper(helper: ActingHelper, part: RequestPart): void {
  const isOffered = isClassName(part.className) || ROUTES_FOR_HELPERS.includes(normalizePath(part.path))
  if (!isOffered) throw new Refusal(400, parseErrorCode.forbidden, NOT_FOR_HELPERS_MESSAGE)
  if (isRead(part) && !isClassReadableByHelper(helper, part.className)) throw objectNotFound()
}

const objectNotFound = () => new Refusal(404, parseErrorCode.notFound, 'Object not found.')

const isClassReadableByHelper = (helper: ActingHelper | undefined, className: unknown): boolean =>
  !helper || (isClassName(className) && isReadableByHelper({ helper }, classKindOf(className).helperAct))

/** The classes that a request of a helper reads, also through pointers. Without a class, as at log-out, it shows no objects. */
export const createReadCheck =
  (helper: ActingHelper | undefined, parts: readonly RequestPart[]) =>
  (className: unknown): boolean =>
    parts.every((part) => part.className === undefined) || isClassReadableByHelper(helper, className)

/** The classes in the conditions of a helper's queries. */
export const limitToHelper =
  (serves: IsServedClass, helper: ActingHelper | undefined): IsServedClass =>
  (name): name is string =>
    serves(name) && isClassReadableByHelper(helper, name)

/** @throws Refusal for a live query of a class that the helper may not read */
export function requireReadableByHelper(helper: ActingHelper | undefined, className: string): void {
  if (!isClassReadableByHelper(helper, className)) throw objectNotFound()
}
