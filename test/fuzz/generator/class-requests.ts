import { CLASS_NAMES } from '../../../records/kinds.ts'
import { createCredentials, type FuzzContext } from './context/fuzz-context.ts'
import type { Actor, FuzzRequest } from './context/fuzz-request.ts'
import type { FuzzedOperation, RecordIds } from './context/openapi-targets.ts'
import { encodeForm } from './encode-form.ts'
import { mutateValue } from './mutations/value-mutations.ts'
import { generateOperationRequest, otherActorsOf } from './operation-requests.ts'
import { QueryGenerator } from './query-generator.ts'

type Fields = Record<string, unknown>

const strangeRoutes = [
  'classes/_Session',
  'classes/_Role',
  'classes/_Installation',
  'classes/_Join:users:_Role',
  'classes/_SCHEMA',
  'classes/constructor',
  'classes/toString',
  'classes/__proto__',
  'classes/Nope',
  'classes/ehr',
  'classes//',
  'schemas',
  'schemas/Ehr',
  'files/a.txt',
  'config',
  'aggregate/Goal',
  'purge/Goal',
  'hooks/functions',
  'graphql',
  'push',
  'serverInfo',
  'health',
  'sessions',
  'sessions/me',
  'roles',
  'installations',
  'events/AppOpened',
  'jobs/x',
  'cloud_code/jobs',
  'logs',
  'scriptlog',
  'upgradeToRevocableSession',
  'verifyPassword',
  'challenge',
  'apps/x/verify_email',
  'functions/nope',
  'functions/__proto__',
  'functions/toString',
  'functions/Login',
  'validate_purchase',
  'loginAs',
  '',
]

/**
 * A request of the class family that the document does not show: lists, batches, accounts, and forms that
 * SDKs use.
 */
export function generateClassRequest(world: FuzzContext, actor: Actor, target: FuzzedOperation): FuzzRequest {
  const { random } = world
  const makers: [number, (world: FuzzContext, actor: Actor, target: FuzzedOperation) => FuzzRequest][] =
    actor === 'victim'
      ? [[1, generateList]]
      : [
          [10, generateList],
          [5, generateBatch],
          [3, generateAccountRequest],
          [2, generateStrangeRequest],
          [3, generateDisguisedRequest],
        ]
  return random.weighted(makers)(world, actor, target)
}

function createClassRequest(
  world: FuzzContext,
  actor: Actor,
  method: string,
  path: string,
  body?: unknown,
  route = path,
): FuzzRequest {
  return {
    actor,
    family: 'class',
    method,
    path,
    route: `${method} ${route}`,
    headers: {
      ...createCredentials(world, 'class', actor),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: Buffer.from(JSON.stringify(body) ?? '') }),
    loggedIn: actor !== 'nobody',
  }
}

/** Chooses the owner of the requested data. */
function pickRecordIds({ random, memory, identityOf }: FuzzContext, actor: Actor): RecordIds {
  const whose = random.chance(0.7) ? actor : random.pick<Actor>(['ann', 'victim'])
  return { ...identityOf(whose).facts, ...memory.place(random, whose, ['ehrId']) }
}

function generateList(world: FuzzContext, actor: Actor): FuzzRequest {
  const { random } = world
  const name = random.pick(CLASS_NAMES)
  const parameters = new QueryGenerator(random, pickRecordIds(world, actor)).list(name)
  const path = `/1/classes/${random.chance(0.05) ? '_User' : name}`
  const route = `/1/classes/${name}`
  if (random.chance(0.4))
    return createClassRequest(world, actor, 'POST', path, { _method: 'GET', ...parameters }, `${route} GET`)
  return createClassRequest(
    world,
    actor,
    'GET',
    `${path}?${encodeForm(parameters).slice(0, 12_000)}`,
    undefined,
    route,
  )
}

function bodyOfRequest({ body }: FuzzRequest): unknown {
  try {
    return JSON.parse(String(body))
  } catch {
    return undefined
  }
}

function generateBatch(world: FuzzContext, actor: Actor): FuzzRequest {
  const { random, targets } = world
  const batched = targets.flat().filter(({ path }) => path.startsWith('/1/classes/'))
  const request = (): Fields => {
    const ask = random.chance(0.7)
      ? generateOperationRequest(world, random.pick(batched), actor)
      : generateList(world, actor)
    const { method, path } = ask
    return { method, path: path.split('?')[0], ...(ask.body && { body: bodyOfRequest(ask) }) }
  }
  const requests = Array.from({ length: random.pick([1, 2, 3, 3, 10, 51]) }, request)
  const body = random.chance(0.25) ? mutateValue({ requests }, random) : { requests }
  return createClassRequest(world, actor, 'POST', '/1/batch', body)
}

function generateAccountRequest(world: FuzzContext, actor: Actor): FuzzRequest {
  const { random, identityOf } = world
  const { email, password, mvUid = 'x' } = identityOf(actor).facts
  const other = identityOf(random.pick(otherActorsOf(actor, 'PUT'))).facts
  const change = { name: 'Zoë', language: 'nl', email: other.email, username: other.email, password, ACL: {} }
  const fields = Object.fromEntries(random.some(Object.entries(change), 0.4))
  const user = random.chance(0.7) ? mvUid : (other.mvUid ?? 'x')
  const changed = (value: unknown) => (random.chance(0.5) ? mutateValue(value, random) : value)
  return random.weighted<() => FuzzRequest>([
    [4, () => createClassRequest(world, actor, 'GET', '/1/users/me')],
    [2, () => createClassRequest(world, actor, 'GET', `/1/users/${user}`, undefined, '/1/users/{objectId}')],
    [1, () => createClassRequest(world, actor, 'GET', '/1/users')],
    [
      4,
      () =>
        createClassRequest(world, actor, 'PUT', `/1/users/${user}`, changed(fields), '/1/users/{objectId}'),
    ],
    [
      4,
      () =>
        createClassRequest(
          world,
          actor,
          'PUT',
          `/1/classes/_User/${user}`,
          changed(fields),
          '/1/classes/_User/{objectId}',
        ),
    ],
    [
      0.1,
      () =>
        createClassRequest(
          world,
          actor,
          'DELETE',
          `/1/classes/_User/${user}`,
          undefined,
          '/1/classes/_User/{objectId}',
        ),
    ],
    [0.5, () => createClassRequest(world, actor, 'POST', '/1/login', changed({ username: email, password }))],
    [
      0.5,
      () =>
        createClassRequest(
          world,
          actor,
          'POST',
          '/1/functions/Login',
          changed({ username: email, password }),
        ),
    ],
    [
      0.5,
      () =>
        createClassRequest(
          world,
          actor,
          'POST',
          '/1/users',
          changed({ ...change, username: `u${random.hex(8)}` }),
        ),
    ],
    [
      1,
      () =>
        createClassRequest(world, actor, 'POST', '/1/requestPasswordReset', changed({ email: other.email })),
    ],
    [1, () => createClassRequest(world, actor, 'POST', '/1/verificationEmailRequest', changed({ email }))],
    [0.1, () => createClassRequest(world, actor, 'POST', '/1/logout', {})],
  ])()
}

function generateStrangeRequest(world: FuzzContext, actor: Actor): FuzzRequest {
  const { random } = world
  const route = `/1/${random.pick(strangeRoutes)}`
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE'])
  return createClassRequest(
    world,
    actor,
    method,
    route,
    method === 'GET' ? undefined : mutateValue({ a: 1, name: 'x' }, random),
  )
}

/** Like SDKs in browsers: keys, session and method in the body of a POST without a content type. */
function generateDisguisedRequest(world: FuzzContext, actor: Actor, target: FuzzedOperation): FuzzRequest {
  const { random, keys, identityOf } = world
  const ask = generateOperationRequest(world, target, actor)
  const originalBody = bodyOfRequest(ask)
  const body = {
    ...(typeof originalBody === 'object' ? originalBody : {}),
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
    ...createClassRequest(
      world,
      actor,
      'POST',
      ask.path,
      random.chance(0.3) ? mutateValue(body, random) : body,
    ),
    route: `${ask.route} by _method`,
    headers: { 'content-type': random.pick(['text/plain', 'application/json']) },
    loggedIn: false,
  }
}
