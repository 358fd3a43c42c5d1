import { CLASS_NAMES } from '../../../records/kinds.ts'
import { nastyValue, spoil, spoilText } from './mutations/mutations.ts'
import { Queries } from './where.ts'
import type { Actor } from './world/ask.ts'
import type { World } from './world/world.ts'

type Message = Record<string, unknown>

/** As many subscriptions as a connection has, and a few more. */
const MOST_IDS = 110
/** More than a message may have, and far more. */
const OVERSIZE = 300 * 1024
const VAST = 100 * 1024 * 1024

const classes = [...CLASS_NAMES, '_User', '_Session', '_Role', '__proto__', 'constructor', 'Nope', '']

/** The first frame of an SDK. */
export function connecting({ keys, identityOf }: World, actor: Actor): string {
  const { sessionToken } = identityOf(actor)
  const application = {
    applicationId: keys['X-Parse-Application-Id'],
    restAPIKey: keys['X-Parse-REST-API-Key'],
  }
  return JSON.stringify({ op: 'connect', ...application, ...(sessionToken && { sessionToken }) })
}

/** The next frame of somebody who is connected: such as SDKs send, and such with something wrong. */
export function nextFrame(world: World, actor: Actor): string | Buffer {
  const { random } = world
  const requestId = random.int(1, MOST_IDS)
  const subscription = subscribing(world, actor, requestId)
  return random.weighted<() => string | Buffer>([
    [400, () => JSON.stringify(subscription)],
    [250, () => JSON.stringify(spoil(subscription, random))],
    [150, () => JSON.stringify({ op: 'unsubscribe', requestId })],
    [50, () => JSON.stringify({ ...subscription, op: 'update' })],
    [80, () => spoilText(JSON.stringify(subscription), random).toString()],
    [30, () => spoilText(JSON.stringify(subscription), random)],
    [30, () => JSON.stringify({ ...subscription, op: random.pick(['', 'create', '__proto__', 5, null]) })],
    [20, () => JSON.stringify(nastyValue(random)) ?? ''],
    [8, () => connecting(world, random.pick<Actor>(['ann', 'ben', 'nobody']))],
    [2, () => JSON.stringify(spoil(JSON.parse(connecting(world, actor)), random))],
    [2, () => ' '.repeat(OVERSIZE)],
    [random.chance(0.02) ? 1 : 0, () => Buffer.alloc(VAST, 'x')],
  ])()
}

function subscribing(world: World, actor: Actor, requestId: number): Message {
  const { random, memory, identityOf } = world
  const whose = random.chance(0.7) ? actor : random.pick<Actor>(['ann', 'victim'])
  const place = { ...identityOf(whose).facts, ...memory.place(random, whose, ['ehrId']) }
  const name = random.pick(CLASS_NAMES)
  const { where, keys } = new Queries(random, place).list(name)
  const className = random.chance(0.95) ? name : random.pick(classes)
  const { sessionToken } = identityOf(random.chance(0.9) ? actor : random.pick<Actor>(['ben', 'nobody']))
  return {
    ...{ op: 'subscribe', requestId },
    query: {
      ...{ className, where },
      ...(keys !== undefined && { [random.pick(['keys', 'fields', 'watch'])]: String(keys).split(',') }),
    },
    ...(sessionToken && random.chance(0.5) && { sessionToken }),
  }
}
