import type { Actor, Family, Identity } from './ask.ts'
import type { OpenApi, Target } from './document.ts'
import type { Memory } from './memory.ts'
import type { Random } from './random.ts'

/** What requests are made of. */
export interface World {
  openApi: OpenApi
  /** What is asked for, a list for each family. */
  targets: readonly (readonly Target[])[]
  memory: Memory
  random: Random
  /** The keys of the class family. */
  keys: Record<string, string>
  identityOf(actor: Actor): Identity
}

/** What an actor sends to be known. */
export function credentials(world: World, family: Family, actor: Actor): Record<string, string> {
  const { authToken, sessionToken } = world.identityOf(actor)
  if (family === 'path') return authToken ? { authorization: `Bearer ${authToken}` } : {}
  return { ...world.keys, ...(sessionToken && { 'X-Parse-Session-Token': sessionToken }) }
}
