import { createCredentials, type FuzzContext } from './context/fuzz-context.ts'
import type { Actor, FuzzRequest } from './context/fuzz-request.ts'
import type { FuzzedOperation, OpenApi, RecordIds } from './context/openapi-targets.ts'
import type { Random } from './context/random.ts'
import { encodeForm } from './encode-form.ts'
import { mutateText, mutateValue } from './mutations/value-mutations.ts'
import { SchemaValues } from './schema-values.ts'

/** A request for an operation of the document. */
export function generateOperationRequest(
  world: FuzzContext,
  target: FuzzedOperation,
  actor: Actor,
  text?: string,
): FuzzRequest {
  const { random, openApi, memory, identityOf } = world
  const place = pickRecordIds(world, target, actor)
  const resolve = openApi.resolve.bind(openApi)
  const factsOfOther = identityOf(actor === 'ann' ? 'ben' : 'ann').facts
  const facts = { ...identityOf(actor).facts, otherMvUid: factsOfOther.mvUid ?? '', ...place }
  const values = new SchemaValues(random, { resolve, facts, ...(text !== undefined && { text }) })
  const path = createPath(openApi, target, facts) + createQuery(world, target, values)
  const [type, schema] = Object.entries(target.bodies)[0] ?? []
  const body =
    type === undefined
      ? undefined
      : encodeBody(type, withoutAdminRole(values.of(schema)), text ? undefined : random)
  const etag = memory.etag(path)
  return {
    actor,
    family: target.family,
    method: target.method,
    path,
    page: target.page,
    route: `${target.method} ${target.path}`,
    headers: {
      ...createCredentials(world, target.family, actor),
      ...(type !== undefined && { 'content-type': type }),
      ...createConditionHeaders(target, etag, random),
      ...(target.path.endsWith('/changes') &&
        random.chance(0.7) && { 'last-event-id': random.pick(LAST_EVENT_IDS) }),
    },
    ...(body && { body }),
    loggedIn: actor !== 'nobody',
  }
}

/** Positions in the change log, and invalid ones. */
const LAST_EVENT_IDS = [
  '1-0',
  '1-1',
  '5-999999',
  '999999999-0',
  '0-0',
  '-1-1',
  '1',
  '1-',
  '-',
  'x',
  '',
  ' ',
  '*',
  '1e3-1',
  `${'9'.repeat(30)}-1`,
  `1-${'9'.repeat(30)}`,
  '1-1, 1-2',
  '\u00e9',
  'x'.repeat(5_000),
]

/** No actor becomes an administrator, who could rightly see the victim's data. */
const withoutAdminRole = (value: unknown): unknown =>
  value instanceof Object && 'roles' in value && Array.isArray(value.roles)
    ? { ...value, roles: value.roles.filter((role) => role !== 'admin') }
    : value

/** The ids that a request needs in its path and body. */
export function requiredIdsOf(openApi: OpenApi, { path, bodies }: FuzzedOperation): string[] {
  const [schema] = Object.values(bodies)
  const { required = [] } = openApi.resolve(schema) ?? {}
  return [...new Set([...openApi.names(path), ...required])].filter(
    (name) => /^(ehr|\w+[a-z])Id$/.test(name) && !FOREIGN_IDS.has(name),
  )
}

/** Ids of other people and systems, which are not taken from seen values. */
const FOREIGN_IDS = new Set(['subjectId', 'guidelineId', 'connectionMvUid'])

/** Chooses a record, usually of the sender, otherwise of another actor. */
function pickRecordIds(
  { random, openApi, memory }: FuzzContext,
  target: FuzzedOperation,
  actor: Actor,
): RecordIds {
  const names = requiredIdsOf(openApi, target)
  if (actor === 'victim' || random.chance(0.75)) return memory.place(random, actor, names)
  const whose = random.pick(otherActorsOf(actor, target.method))
  return memory.place(random, whose, random.chance(0.8) ? names : [])
}

/**
 * The other actors whose records are tried. Administrators may change anybody's records, so they leave out
 * the victim.
 */
export const otherActorsOf = (actor: Actor, method: string): Actor[] =>
  actor === 'admin' && method !== 'GET' ? ['ann', 'ben'] : ['ann', 'ben', 'victim', 'victim', 'victim']

function createPath(openApi: OpenApi, { path }: FuzzedOperation, facts: RecordIds): string {
  const names = openApi.names(path)
  let position = 0
  return path.replace(/\{\w+\}/g, () => {
    const name = names[position++] ?? ''
    return encodeURIComponent(facts[name === 'connectionMvUid' ? 'otherMvUid' : name] ?? 'n4Fq2LxT0a')
  })
}

function createQuery({ random, memory }: FuzzContext, target: FuzzedOperation, values: SchemaValues): string {
  if (target.family === 'class') return ''
  const cursor = memory.cursor(`${target.method} ${target.path}`)
  const entries = target.parameters
    .filter(({ in: place, required }) => place === 'query' && (required || random.chance(0.25)))
    .map(({ name, schema }) => [
      name,
      name === 'cursor' && cursor !== undefined ? cursor : values.of(schema, name),
    ])
  const query = encodeForm(Object.fromEntries(entries))
  return query === '' ? '' : `?${query}`
}

/** @param random mutates the encoding now and then */
function encodeBody(type: string, value: unknown, random: Random | undefined): Buffer {
  if (type.startsWith('image/')) return PIXEL
  const spoiled = random?.chance(0.4) ? mutateValue(value, random) : value
  if (type.endsWith('urlencoded')) return Buffer.from(encodeForm(Object(spoiled)))
  const text = JSON.stringify(spoiled) ?? ''
  return random?.chance(0.06) ? mutateText(text, random) : Buffer.from(text)
}

/** A PNG of one pixel. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function createConditionHeaders(
  { method, parameters, family }: FuzzedOperation,
  etag: string | undefined,
  random: Random,
): Record<string, string> {
  if (family === 'class') return {}
  if (method === 'GET') return etag && random.chance(0.2) ? { 'if-none-match': etag } : {}
  const demanded = parameters.some(({ name, required }) => name === 'If-Match' && required)
  const match: Record<string, string> =
    demanded || random.chance(0.3) ? { 'if-match': random.chance(0.8) ? (etag ?? '"1"') : '*' } : {}
  return method === 'POST' && random.chance(0.1)
    ? { ...match, 'idempotency-key': `key-${random.int(0, 50)}` }
    : match
}
