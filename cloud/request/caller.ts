import type Parse from 'parse/node'
import type { Caller } from '../../records/store/documents/caller.ts'
import { loadUserRoles } from '../parse-server/internals.ts'

/** The parts of a trigger request that concern the caller. */
type TriggerRequest = Pick<Parse.Cloud.TriggerRequest, 'master' | 'user' | 'config' | 'headers'>

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
export async function loadCaller({ master, user, config, headers }: TriggerRequest): Promise<Caller> {
  const caller = createCallerWithoutRoles(master === true, user?.id, headers?.['x-request-id'])
  if (master || !user?.id) return caller
  return { ...caller, roles: await loadUserRoles(config, user) }
}

/** Clears the cached roles of a user after a write that bypassed Parse. */
export async function clearCachedRoles({ config }: TriggerRequest, userId: string): Promise<void> {
  await config.cacheController.role.del(userId)
}
