import type Parse from 'parse/node'
import type { Caller } from '../records/caller.ts'

/** What Parse tells a trigger about the one who asks. */
type Request = Pick<Parse.Cloud.TriggerRequest, 'master' | 'user' | 'config' | 'headers'>

interface AuthModule {
  Auth: new (of: { config: unknown; user: Parse.User }) => { getUserRoles(): Promise<string[]> }
}

/** Who asks, with his roles; Parse has them in its cache, since it needed them for this very request. */
export async function callerOf({ master, user, config, headers }: Request): Promise<Caller> {
  const application = 'class family'
  const requestId = headers?.['x-request-id'] ?? ''
  if (master) return { userId: 'service', roles: [], application, requestId, unrestricted: true }
  if (!user?.id) return { userId: 'nobody', roles: [], application, requestId }
  const { Auth } = (await import('parse-server/lib/Auth.js')).default as AuthModule
  const roles = await new Auth({ config, user }).getUserRoles()
  return { userId: user.id, roles: roles.map((role) => role.replace(/^role:/, '')), application, requestId }
}

/** Lets a membership that was written past Parse count in the user's next request. */
export async function forgetRoles({ config }: Request, userId: string): Promise<void> {
  await config.cacheController.role.del(userId)
}
