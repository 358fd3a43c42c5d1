import { CLASS_NAMES } from '../../../records/kinds.ts'
import type { FuzzContext } from './context/fuzz-context.ts'
import type { Actor } from './context/fuzz-request.ts'
import { mutateText, mutateValue, pickNaughtyValue } from './mutations/value-mutations.ts'
import { QueryGenerator } from './query-generator.ts'

type Message = Record<string, unknown>

/** A few more than the subscriptions that a connection may have. */
const MAX_REQUEST_IDS = 110
/** Far more than a message may have. */
const OVERSIZE_BYTES = 300 * 1024
const VAST_BYTES = 100 * 1024 * 1024

const classes = [...CLASS_NAMES, '_User', '_Session', '_Role', '__proto__', 'constructor', 'Nope', '']

/** The first frame of an SDK. */
export function createConnectFrame({ keys, identityOf }: FuzzContext, actor: Actor): string {
  const { sessionToken } = identityOf(actor)
  const application = {
    applicationId: keys['X-Parse-Application-Id'],
    restAPIKey: keys['X-Parse-REST-API-Key'],
  }
  return JSON.stringify({ op: 'connect', ...application, ...(sessionToken && { sessionToken }) })
}

/** The next frame of a connected client: valid ones, and ones with a mutation. */
export function generateFrame(world: FuzzContext, actor: Actor): string | Buffer {
  const { random } = world
  const requestId = random.int(1, MAX_REQUEST_IDS)
  const subscription = generateSubscription(world, actor, requestId)
  return random.weighted<() => string | Buffer>([
    [400, () => JSON.stringify(subscription)],
    [250, () => JSON.stringify(mutateValue(subscription, random))],
    [150, () => JSON.stringify({ op: 'unsubscribe', requestId })],
    [50, () => JSON.stringify({ ...subscription, op: 'update' })],
    [80, () => mutateText(JSON.stringify(subscription), random).toString()],
    [30, () => mutateText(JSON.stringify(subscription), random)],
    [30, () => JSON.stringify({ ...subscription, op: random.pick(['', 'create', '__proto__', 5, null]) })],
    [20, () => JSON.stringify(pickNaughtyValue(random)) ?? ''],
    [8, () => createConnectFrame(world, random.pick<Actor>(['ann', 'ben', 'nobody']))],
    [2, () => JSON.stringify(mutateValue(JSON.parse(createConnectFrame(world, actor)), random))],
    [2, () => ' '.repeat(OVERSIZE_BYTES)],
    [random.chance(0.02) ? 1 : 0, () => Buffer.alloc(VAST_BYTES, 'x')],
  ])()
}

function generateSubscription(world: FuzzContext, actor: Actor, requestId: number): Message {
  const { random, memory, identityOf } = world
  const whose = random.chance(0.7) ? actor : random.pick<Actor>(['ann', 'victim'])
  const place = { ...identityOf(whose).facts, ...memory.place(random, whose, ['ehrId']) }
  const name = random.pick(CLASS_NAMES)
  const { where, keys } = new QueryGenerator(random, place).list(name)
  const className = random.chance(0.95) ? name : random.pick(classes)
  const { sessionToken } = identityOf(random.chance(0.9) ? actor : random.pick<Actor>(['ben', 'nobody']))
  return {
    op: 'subscribe',
    requestId,
    query: {
      className,
      where,
      ...(keys !== undefined && { [random.pick(['keys', 'fields', 'watch'])]: String(keys).split(',') }),
    },
    ...(sessionToken && random.chance(0.5) && { sessionToken }),
  }
}
