import type { ClientMemory } from './client-memory.ts'
import type { Actor, Family, Identity } from './fuzz-request.ts'
import type { FuzzedOperation, OpenApi } from './openapi-targets.ts'
import type { Random } from './random.ts'

/** The values from which requests are generated. */
export interface FuzzContext {
  openApi: OpenApi
  /** The operations to fuzz, one list for each family. */
  targets: readonly (readonly FuzzedOperation[])[]
  memory: ClientMemory
  random: Random
  /** The keys of the class family. */
  keys: Record<string, string>
  identityOf(actor: Actor): Identity
}

/** The credentials that an actor sends. */
export function createCredentials(world: FuzzContext, family: Family, actor: Actor): Record<string, string> {
  const { authToken, sessionToken } = world.identityOf(actor)
  if (family === 'path') return authToken ? { authorization: `Bearer ${authToken}` } : {}
  return { ...world.keys, ...(sessionToken && { 'X-Parse-Session-Token': sessionToken }) }
}
