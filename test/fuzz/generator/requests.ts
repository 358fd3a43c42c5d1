import { formOf } from './form.ts'
import { spoil, spoilText } from './mutations/mutations.ts'
import { Values } from './strange-values.ts'
import type { Actor, Ask } from './world/ask.ts'
import type { OpenApi, Place, Target } from './world/document.ts'
import type { Random } from './world/random.ts'
import { credentials, type World } from './world/world.ts'

/** A request for an operation of the document. */
export function askFor(world: World, target: Target, actor: Actor, text?: string): Ask {
  const { random, openApi, memory, identityOf } = world
  const place = placeFor(world, target, actor)
  const resolve = openApi.resolve.bind(openApi)
  const others = identityOf(actor === 'ann' ? 'ben' : 'ann').facts
  const facts = { ...identityOf(actor).facts, otherMvUid: others.mvUid ?? '', ...place }
  const values = new Values(random, { resolve, facts, ...(text !== undefined && { text }) })
  const path = pathOf(openApi, target, facts) + queryOf(world, target, values)
  const [type, schema] = Object.entries(target.bodies)[0] ?? []
  const body =
    type === undefined ? undefined : bodyOf(type, withoutPower(values.of(schema)), text ? undefined : random)
  const etag = memory.etag(path)
  return {
    ...{ actor, family: target.family, method: target.method, path, page: target.page },
    route: `${target.method} ${target.path}`,
    headers: {
      ...credentials(world, target.family, actor),
      ...(type !== undefined && { 'content-type': type }),
      ...conditionOf(target, etag, random),
      ...(target.path.endsWith('/changes') &&
        random.chance(0.7) && { 'last-event-id': random.pick(lastEvents) }),
    },
    ...(body && { body }),
    loggedIn: actor !== 'nobody',
  }
}

/** Positions in the log of changes, and what is none. */
const lastEvents = [
  ...['1-0', '1-1', '5-999999', '999999999-0', '0-0', '-1-1', '1', '1-', '-', 'x', '', ' ', '*', '1e3-1'],
  ...[`${'9'.repeat(30)}-1`, `1-${'9'.repeat(30)}`, '1-1, 1-2', '\u00e9', 'x'.repeat(5_000)],
]

/** Nobody is made an administrator: they could see rightly what the victim has. */
const withoutPower = (value: unknown): unknown =>
  value instanceof Object && 'roles' in value && Array.isArray(value.roles)
    ? { ...value, roles: value.roles.filter((role) => role !== 'admin') }
    : value

/** The ids that a request needs, in its path and in its body. */
export function idsFor(openApi: OpenApi, { path, bodies }: Target): string[] {
  const [schema] = Object.values(bodies)
  const { required = [] } = openApi.resolve(schema) ?? {}
  return [...new Set([...openApi.names(path), ...required])].filter(
    (name) => /^(ehr|\w+[a-z])Id$/.test(name) && !others.has(name),
  )
}

/** Ids that are not looked for among what was seen: those of other people and systems. */
const others = new Set(['subjectId', 'guidelineId', 'connectionMvUid'])

/** Where: most of the time the asker's own, else what somebody else has. */
function placeFor({ random, openApi, memory }: World, target: Target, actor: Actor): Place {
  const names = idsFor(openApi, target)
  if (actor === 'victim' || random.chance(0.75)) return memory.place(random, actor, names)
  const whose = random.pick(othersFor(actor, target.method))
  return memory.place(random, whose, random.chance(0.8) ? names : [])
}

/** Whose records somebody tries. What administrators may do to anybody, they do not do to the victim. */
export const othersFor = (actor: Actor, method: string): Actor[] =>
  actor === 'admin' && method !== 'GET' ? ['ann', 'ben'] : ['ann', 'ben', 'victim', 'victim', 'victim']

function pathOf(openApi: OpenApi, { path }: Target, facts: Place): string {
  const names = openApi.names(path)
  let at = 0
  return path.replace(/\{\w+\}/g, () => {
    const name = names[at++] ?? ''
    return encodeURIComponent(facts[name === 'connectionMvUid' ? 'otherMvUid' : name] ?? 'n4Fq2LxT0a')
  })
}

function queryOf({ random, memory }: World, target: Target, values: Values): string {
  if (target.family === 'class') return ''
  const cursor = memory.cursor(`${target.method} ${target.path}`)
  const given = target.parameters
    .filter(({ in: place, required }) => place === 'query' && (required || random.chance(0.25)))
    .map(({ name, schema }) => [
      name,
      name === 'cursor' && cursor !== undefined ? cursor : values.of(schema, name),
    ])
  const query = formOf(Object.fromEntries(given))
  return query === '' ? '' : `?${query}`
}

/** @param random spoils it, at times */
function bodyOf(type: string, value: unknown, random: Random | undefined): Buffer {
  if (type.startsWith('image/')) return PIXEL
  const spoiled = random?.chance(0.4) ? spoil(value, random) : value
  if (type.endsWith('urlencoded')) return Buffer.from(formOf(Object(spoiled)))
  const text = JSON.stringify(spoiled) ?? ''
  return random?.chance(0.06) ? spoilText(text, random) : Buffer.from(text)
}

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function conditionOf(
  { method, parameters, family }: Target,
  etag: string | undefined,
  random: Random,
): Record<string, string> {
  if (family === 'class') return {}
  if (method === 'GET') return etag && random.chance(0.2) ? { 'if-none-match': etag } : {}
  const demanded = parameters.some(({ name, required }) => name === 'If-Match' && required)
  const match: Record<string, string> =
    demanded || random.chance(0.3) ? { 'if-match': random.chance(0.8) ? (etag ?? '*') : '"1"' } : {}
  return method === 'POST' && random.chance(0.1)
    ? { ...match, 'idempotency-key': `key-${random.int(0, 50)}` }
    : match
}
