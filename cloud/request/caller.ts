import type Parse from 'parse/node'
import type { Caller } from '../../records/store/documents/caller.ts'
import { rolesOfUser } from '../parse-server/internals.ts'

/** What Parse tells a trigger about the one who asks. */
type Request = Pick<Parse.Cloud.TriggerRequest, 'master' | 'user' | 'config' | 'headers'>

/** Who asks through the class family, as the audit knows them; their roles are not looked up. */
export function identityOf(
  master: boolean,
  userId: string | undefined,
  requestId: string | undefined,
): Caller {
  const origin = { roles: [], application: 'class family', requestId: requestId ?? '' }
  return master
    ? { ...origin, userId: userId ?? 'service', unrestricted: true }
    : { ...origin, userId: userId ?? 'nobody' }
}

/** Who asks, with their roles; Parse has them in its cache, since it needed them for this very request. */
export async function callerOf({ master, user, config, headers }: Request): Promise<Caller> {
  const caller = identityOf(master === true, user?.id, headers?.['x-request-id'])
  if (master || !user?.id) return caller
  return { ...caller, roles: await rolesOfUser(config, user) }
}

/** Lets a membership that was written past Parse count in the user's next request. */
export async function forgetRoles({ config }: Request, userId: string): Promise<void> {
  await config.cacheController.role.del(userId)
}
