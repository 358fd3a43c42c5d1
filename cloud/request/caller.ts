import type { Caller } from '../../records/store/documents/caller.ts'
import { loadUserRoles } from '../parse-server/internals.ts'

/** The parts of a request that concern the caller. */
interface CallerSource {
  master?: boolean | undefined
  user?: { id?: string } | undefined
  config: unknown
  headers?: Record<string, string | undefined> | undefined
}

/** Creates the caller for the audit, without looking up roles. */
export function createCallerWithoutRoles(
  master: boolean,
  userId: string | undefined,
  requestId: string | undefined,
): Caller {
  const origin = { roles: [], application: 'class family', requestId: requestId ?? '' }
  return master
    ? { ...origin, userId: userId ?? 'service', unrestricted: true }
    : { ...origin, userId: userId ?? 'nobody' }
}

/** Creates the caller with roles; Parse has them cached, because this request needed them. */
export async function loadCaller({ master, user, config, headers }: CallerSource): Promise<Caller> {
  const caller = createCallerWithoutRoles(master === true, user?.id, headers?.['x-request-id'])
  if (master || !user?.id) return caller
  return { ...caller, roles: await loadUserRoles(config, user) }
}
