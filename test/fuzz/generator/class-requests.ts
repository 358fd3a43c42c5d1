import { CLASS_NAMES } from '../../../records/kinds.ts'
import { formOf } from './form.ts'
import { spoil } from './mutations/mutations.ts'
import { askFor, othersFor } from './requests.ts'
import { Queries } from './where.ts'
import type { Actor, Ask } from './world/ask.ts'
import type { Place, Target } from './world/document.ts'
import { credentials, type World } from './world/world.ts'

type Fields = Record<string, unknown>

const strangeRoutes = [
  ...[
    'classes/_Session',
    'classes/_Role',
    'classes/_Installation',
    'classes/_Join:users:_Role',
    'classes/_SCHEMA',
  ],
  ...[
    'classes/constructor',
    'classes/toString',
    'classes/__proto__',
    'classes/Nope',
    'classes/ehr',
    'classes//',
  ],
  ...[
    'schemas',
    'schemas/Ehr',
    'files/a.txt',
    'config',
    'aggregate/Goal',
    'purge/Goal',
    'hooks/functions',
    'graphql',
  ],
  ...[
    'push',
    'serverInfo',
    'health',
    'sessions',
    'sessions/me',
    'roles',
    'installations',
    'events/AppOpened',
    'jobs/x',
  ],
  ...[
    'cloud_code/jobs',
    'logs',
    'scriptlog',
    'upgradeToRevocableSession',
    'verifyPassword',
    'challenge',
    'apps/x/verify_email',
  ],
  ...[
    'functions/nope',
    'functions/__proto__',
    'functions/toString',
    'functions/Login',
    'validate_purchase',
    'loginAs',
    '',
  ],
]

/** A request of the class family that the document does not show: lists, batches, accounts, the SDKs' ways. */
export function ofClassFamily(world: World, actor: Actor, target: Target): Ask {
  const { random } = world
  const makers: [number, (world: World, actor: Actor, target: Target) => Ask][] =
    actor === 'victim'
      ? [[1, list]]
      : [
          [10, list],
          [5, batch],
          [3, account],
          [2, strange],
          [3, disguised],
        ]
  return random.weighted(makers)(world, actor, target)
}

function plain(world: World, actor: Actor, method: string, path: string, body?: unknown, route = path): Ask {
  return {
    ...{ actor, family: 'class', method, path, route: `${method} ${route}` },
    headers: {
      ...credentials(world, 'class', actor),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: Buffer.from(JSON.stringify(body) ?? '') }),
    loggedIn: actor !== 'nobody',
  }
}

/** Whose data are asked for. */
function placeOf({ random, memory, identityOf }: World, actor: Actor): Place {
  const whose = random.chance(0.7) ? actor : random.pick<Actor>(['ann', 'victim'])
  return { ...identityOf(whose).facts, ...memory.place(random, whose, ['ehrId']) }
}

function list(world: World, actor: Actor): Ask {
  const { random } = world
  const name = random.pick(CLASS_NAMES)
  const parameters = new Queries(random, placeOf(world, actor)).list(name)
  const path = `/1/classes/${random.chance(0.05) ? '_User' : name}`
  const route = `/1/classes/${name}`
  if (random.chance(0.4))
    return plain(world, actor, 'POST', path, { _method: 'GET', ...parameters }, `${route} GET`)
  return plain(world, actor, 'GET', `${path}?${formOf(parameters).slice(0, 12_000)}`, undefined, route)
}

function bodyOf({ body }: Ask): unknown {
  try {
    return JSON.parse(String(body))
  } catch {
    return undefined
  }
}

function batch(world: World, actor: Actor): Ask {
  const { random, targets } = world
  const batched = targets.flat().filter(({ path }) => path.startsWith('/1/classes/'))
  const request = (): Fields => {
    const ask = random.chance(0.7) ? askFor(world, random.pick(batched), actor) : list(world, actor)
    const { method, path } = ask
    return { method, path: path.split('?')[0], ...(ask.body && { body: bodyOf(ask) }) }
  }
  const requests = Array.from({ length: random.pick([1, 2, 3, 3, 10, 51]) }, request)
  const body = random.chance(0.25) ? spoil({ requests }, random) : { requests }
  return plain(world, actor, 'POST', '/1/batch', body)
}

function account(world: World, actor: Actor): Ask {
  const { random, identityOf } = world
  const { email, password, mvUid = 'x' } = identityOf(actor).facts
  const other = identityOf(random.pick(othersFor(actor, 'PUT'))).facts
  const change = { name: 'Zoë', language: 'nl', email: other.email, username: other.email, password, ACL: {} }
  const some = Object.fromEntries(random.some(Object.entries(change), 0.4))
  const user = random.chance(0.7) ? mvUid : (other.mvUid ?? 'x')
  const changed = (value: unknown) => (random.chance(0.5) ? spoil(value, random) : value)
  return random.weighted<() => Ask>([
    [4, () => plain(world, actor, 'GET', '/1/users/me')],
    [2, () => plain(world, actor, 'GET', `/1/users/${user}`, undefined, '/1/users/{objectId}')],
    [1, () => plain(world, actor, 'GET', '/1/users')],
    [4, () => plain(world, actor, 'PUT', `/1/users/${user}`, changed(some), '/1/users/{objectId}')],
    [
      4,
      () =>
        plain(world, actor, 'PUT', `/1/classes/_User/${user}`, changed(some), '/1/classes/_User/{objectId}'),
    ],
    [
      0.1,
      () =>
        plain(world, actor, 'DELETE', `/1/classes/_User/${user}`, undefined, '/1/classes/_User/{objectId}'),
    ],
    [0.5, () => plain(world, actor, 'POST', '/1/login', changed({ username: email, password }))],
    [0.5, () => plain(world, actor, 'POST', '/1/functions/Login', changed({ username: email, password }))],
    [
      0.5,
      () => plain(world, actor, 'POST', '/1/users', changed({ ...change, username: `u${random.hex(8)}` })),
    ],
    [1, () => plain(world, actor, 'POST', '/1/requestPasswordReset', changed({ email: other.email }))],
    [1, () => plain(world, actor, 'POST', '/1/verificationEmailRequest', changed({ email }))],
    [0.1, () => plain(world, actor, 'POST', '/1/logout', {})],
  ])()
}

function strange(world: World, actor: Actor): Ask {
  const { random } = world
  const route = `/1/${random.pick(strangeRoutes)}`
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE'])
  return plain(world, actor, method, route, method === 'GET' ? undefined : spoil({ a: 1, name: 'x' }, random))
}

/** As SDKs in browsers send them: keys, session and method in the body of a POST without a type of its own. */
function disguised(world: World, actor: Actor, target: Target): Ask {
  const { random, keys, identityOf } = world
  const ask = askFor(world, target, actor)
  const given = bodyOf(ask)
  const body = {
    ...(typeof given === 'object' ? given : {}),
    _method: random.pick([ask.method, ask.method, 'GET', 'HEAD', 'OPTIONS', '', 5, 'PATCH']),
    _ApplicationId: Object.values(keys)[0],
    _RESTAPIKey: Object.values(keys)[1],
    _SessionToken: identityOf(actor).sessionToken,
    ...Object.fromEntries(
      random.some(
        [
          ['_ContentType', 'application/json'],
          ['_context', '{"a":1}'],
          ['_noBody', true],
        ],
        0.1,
      ),
    ),
  }
  return {
    ...plain(world, actor, 'POST', ask.path, random.chance(0.3) ? spoil(body, random) : body),
    route: `${ask.route} by _method`,
    headers: { 'content-type': random.pick(['text/plain', 'application/json']) },
    loggedIn: false,
  }
}
