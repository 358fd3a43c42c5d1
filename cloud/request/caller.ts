import type { Caller } from '../../records/store/documents/caller.ts'
import { loadUserRoles } from '../parse-server/internals.ts'
import { helperFor } from './helper-sessions.ts'

interface CallerUser {
  id?: string
}

/** The parts of a request that concern the caller. */
interface CallerSource {
  master?: boolean | undefined
  user?: CallerUser | undefined
  config: unknown
  headers?: Record<string, string | undefined> | undefined
}

/** Creates the caller for the audit, without looking up roles. */
export function createCallerWithoutRoles(
  master: boolean,
  user: CallerUser | undefined,
  requestId: string | undefined,
): Caller {
  const origin = { roles: [], application: 'class family', requestId: requestId ?? '' }
  if (master) return { ...origin, userId: user?.id ?? 'service', unrestricted: true }
  const helper = helperFor(user)
  return { ...origin, userId: user?.id ?? 'nobody', ...(helper && { helper }) }
}

/** Creates the caller with roles; Parse has them cached, because this request needed them. */
export async function loadCaller({ master, user, config, headers }: CallerSource): Promise<Caller> {
  const caller = createCallerWithoutRoles(master === true, user, headers?.['x-request-id'])
  if (master || !user?.id || caller.helper) return caller
  return { ...caller, roles: await loadUserRoles(config, user) }
}
