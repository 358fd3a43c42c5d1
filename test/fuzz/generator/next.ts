import { ofClassFamily } from './class-requests.ts'
import { spoilWire } from './mutations/wire.ts'
import { askFor, idsFor } from './requests.ts'
import type { Actor, Ask } from './world/ask.ts'
import type { Target } from './world/document.ts'
import type { World } from './world/world.ts'

const actors: readonly (readonly [number, Actor])[] = [
  [50, 'ann'],
  [30, 'ben'],
  [6, 'admin'],
  [5, 'victim'],
  [9, 'nobody'],
]

/** What takes a password's time, or ends a session, a record or an EHR: seldom, or nothing else would be tried. */
const isSeldom = ({ path, method }: Target): boolean =>
  /\/close$/.test(path) ||
  (method === 'DELETE' && /^\/med\/ehr|\/Ehr\//.test(path)) ||
  (/^\/auth\/(account\/|login|logout|manage)|^\/1\/(users|login)/.test(path) && method !== 'GET') ||
  (method === 'DELETE' && /^\/profile\/\{mvUid\}$|\/sessions\//.test(path))

/** The next request: most of them what a client sends, one in two with something wrong. */
export function nextAsk(world: World): Ask {
  const { random } = world
  const target = random.pick(random.pick(world.targets))
  const actor = random.weighted(actors)
  if (actor === 'victim' && target.method !== 'GET') return nextAsk(world)
  const isVain = actor !== 'nobody' && !world.memory.knows(actor, idsFor(world.openApi, target))
  if ((isSeldom(target) || isVain) && random.chance(0.9)) return nextAsk(world)
  const plain =
    target.family === 'class' && random.chance(0.35)
      ? ofClassFamily(world, actor, target)
      : askFor(world, target, actor)
  if (actor === 'victim') return plain
  return random.chance(0.3) ? spoilWire(plain, random) : plain
}
