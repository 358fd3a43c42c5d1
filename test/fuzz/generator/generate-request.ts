import { generateClassRequest } from './class-requests.ts'
import type { FuzzContext } from './context/fuzz-context.ts'
import type { Actor, FuzzRequest } from './context/fuzz-request.ts'
import type { FuzzedOperation } from './context/openapi-targets.ts'
import { mutateRequest } from './mutations/request-mutations.ts'
import { generateOperationRequest, requiredIdsOf } from './operation-requests.ts'

const WEIGHTED_ACTORS: readonly (readonly [number, Actor])[] = [
  [50, 'ann'],
  [30, 'ben'],
  [6, 'admin'],
  [5, 'victim'],
  [9, 'nobody'],
]

/**
 * Slow operations (password hashing), and those that end a session, a record or an EHR. If frequent, they
 * would stop other tests.
 */
const isRarelyTried = ({ path, method }: FuzzedOperation): boolean =>
  /\/close$/.test(path) ||
  (method === 'DELETE' && /^\/med\/ehr|\/Ehr\//.test(path)) ||
  (/^\/auth\/(account\/|login|logout|manage)|^\/1\/(users|login)/.test(path) && method !== 'GET') ||
  (method === 'DELETE' && /^\/profile\/\{mvUid\}$|\/sessions\//.test(path))

/** The next request. One in two has a mutation. */
export function generateRequest(world: FuzzContext): FuzzRequest {
  const { random } = world
  const target = random.pick(random.pick(world.targets))
  const actor = random.weighted(WEIGHTED_ACTORS)
  if (actor === 'victim' && target.method !== 'GET') return generateRequest(world)
  const isVain = actor !== 'nobody' && !world.memory.hasIds(actor, requiredIdsOf(world.openApi, target))
  if ((isRarelyTried(target) || isVain) && random.chance(0.9)) return generateRequest(world)
  const plain =
    target.family === 'class' && random.chance(0.35)
      ? generateClassRequest(world, actor, target)
      : generateOperationRequest(world, target, actor)
  if (actor === 'victim') return plain
  return random.chance(0.3) ? mutateRequest(plain, random) : plain
}
