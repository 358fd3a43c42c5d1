import type { TObject, TSchema } from '@sinclair/typebox'
import { type ErrorName, errorCode, errors } from '../../schemas/errors.ts'
import { EventStream, eventText } from '../answer/event-stream.ts'
import { Form, Raw } from '../answer/media.ts'
import { rules } from '../operation/access.ts'
import type { BodyLimits, Operation } from '../operation/operation.ts'
import { mediaTypesOf } from '../request/input.ts'
import { impliedErrors, Problem, problemExample } from '../response/problem.ts'
import { classFamily } from './class-family.ts'
import { exampleOf } from './example.ts'
import { type Json, SchemaCollector } from './schema-collector.ts'

const tags: [prefix: string, name: string, description: string][] = [
  ['/auth/login', 'Login', 'Tokens: logging in, renewing, verifying'],
  ['/auth', 'Accounts', 'Accounts: registration, activation, passwords, sessions'],
  ['/profile', 'Profile', 'Persons: addresses, contacts, relations, network'],
  ['/ehr', 'EHR data', 'Electronic health records, care plans and what is registered in them'],
  ['/med', 'Medical data', 'Care plans, events, compositions, templates, queries'],
  ['/data', 'Data', 'Measurements and events of a user, and their types'],
  ['/chat', 'Chat', 'Topics and messages'],
  ['/1/', 'Class family', 'Objects of classes, as an object-storage backend offers them'],
  ['/functions', 'Class family', 'Functions of the class family'],
  ['/', 'Service', 'The service itself'],
]
const MEGABYTE = 1024 * 1024

const tagOf = (path: string): string => tags.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Service'

const about = `Electronic health records, care plans and measurements.

Errors are problem documents (RFC 9457): \`code\` is for programs, \`errors\` names everything that is wrong with the
input. Single resources carry an ETag; send it as If-Match with a change and as If-None-Match with a repeated read.
A POST with an Idempotency-Key may be repeated safely for 24 hours.

\`/ehr\` and \`/med\` give access to the same records under the same rules: an id from one is valid in the other.`

/**
 * The OpenAPI 3.1 document of both families, made from the table and the classes.
 * @param open whether it is that of the open test environment
 */
export function openApi(operations: readonly Operation[], version: string, open = false): Json {
  const schemas = new SchemaCollector()
  const refusals: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const described = describe(operation, schemas, refusals)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described }
  }
  const ofClasses = classFamily(schemas, open)
  Object.assign(paths, ofClasses.paths)
  const used = new Set(Object.keys(paths).map(tagOf))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Health Record Service',
      version,
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this service' },
    },
    servers: [{ url: '/' }],
    tags: tags
      .filter(([, name], i) => used.has(name) && tags.findIndex(([, other]) => other === name) === i)
      .map(([, name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.named,
      responses: { ...refusals, ...ofClasses.responses },
      examples: problemExamples(refusals),
      parameters: { ...headers, ...ofClasses.parameters },
      securitySchemes,
    },
  }
}

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The `authToken` of a login' },
  authToken: { type: 'apiKey', in: 'header', name: 'authToken' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'authToken', description: 'For pages of our own origins' },
  applicationId: { type: 'apiKey', in: 'header', name: 'X-Parse-Application-Id' },
  restApiKey: { type: 'apiKey', in: 'header', name: 'X-Parse-REST-API-Key' },
  sessionToken: { type: 'apiKey', in: 'header', name: 'X-Parse-Session-Token' },
}

const headerParameter = (
  name: string,
  description: string,
  { required = false, ...schema }: { pattern: string; examples: string[]; required?: boolean },
) => ({ name, in: 'header', required, description, schema: { type: 'string', ...schema } })

const TAGS = '^(\\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$'
const tagsLike = (...examples: string[]) => ({ pattern: TAGS, examples })

const headers = {
  IfMatch: headerParameter(
    'If-Match',
    'ETags of the versions that may be overwritten, or `*`',
    tagsLike('"3"'),
  ),
  IfMatchRequired: headerParameter('If-Match', 'ETag of the version that may be overwritten', {
    ...tagsLike('"3"'),
    required: true,
  }),
  IfNoneMatch: headerParameter('If-None-Match', 'ETags that the client has', tagsLike('"3"')),
  IfNoneMatchAny: headerParameter('If-None-Match', '`*`: only when there is none yet', {
    ...{ pattern: '^\\*$', examples: ['*'] },
  }),
  LastEventId: headerParameter('Last-Event-ID', 'The id of the event behind which the stream is to go on', {
    ...{ pattern: '^\\d{1,15}-\\d{1,3}$', examples: ['493512000018-1'] },
  }),
  IdempotencyKey: headerParameter(
    'Idempotency-Key',
    'Chosen by the client, different for each request; a repetition gets the first answer',
    { pattern: '^[!-~]{1,255}$', examples: ['5f0c2a1e-8f0b-4f0e-9a53-2d1f3c1a9b7e'] },
  ),
}

function describe(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const { id, summary, path, access, body, limits } = operation
  return {
    operationId: id,
    tags: [tagOf(path)],
    summary,
    description: descriptionOf(operation),
    security: securityOf(access),
    parameters: [
      ...parametersIn('path', operation.params, schemas),
      ...parametersIn('query', operation.query, schemas),
      ...headersOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            description: limitsInWords(limits, body),
            required: true,
            content: contentOf(body, schemas),
          },
        }),
    responses: { ...success(operation, schemas), ...failures(operation, schemas, refusals) },
  }
}

function descriptionOf({ description, access, source, extra }: Operation): string {
  const who = access === 'public' || access === 'optional' ? 'anyone' : rules[access].who
  const origin = extra ? `Beyond the specification (${source}).` : `Specification: ${source}.`
  return [description, `For ${who}.`, origin].filter(Boolean).join('\n\n')
}

function securityOf(access: Operation['access']): Json[] {
  if (access === 'public') return []
  const token = [{ bearer: [] }, { authToken: [] }, { cookie: [] }]
  return access === 'optional' ? [{}, ...token] : token
}

function headersOf({
  method,
  ifMatch,
  creates,
  resumes,
  reply,
  errors = [],
}: Operation): (keyof typeof headers)[] {
  if (method === 'post')
    return errors.includes('PreconditionFailed') ? ['IdempotencyKey', 'IfMatch'] : ['IdempotencyKey']
  if (method === 'get') return resumes ? ['LastEventId'] : reply[2] ? ['IfNoneMatch'] : []
  return [
    ifMatch === 'required' ? 'IfMatchRequired' : 'IfMatch',
    ...(creates ? (['IfNoneMatchAny'] as const) : []),
  ]
}

function parametersIn(
  place: 'path' | 'query',
  { properties, required = [] }: TObject,
  schemas: SchemaCollector,
): Json[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    description: `${schema.description ?? name}${schema.format === 'date-time' ? '; a day is its beginning, in UTC' : ''}`,
    schema: schemas.collect(schema),
  }))
}

function contentOf(body: TSchema | Raw | Form<TSchema>, schemas: SchemaCollector): Json {
  if (body instanceof EventStream) return { [body.types[0]]: eventsOf(body) }
  const schema = body instanceof Raw ? undefined : body instanceof Form ? body.schema : body
  return Object.fromEntries(
    mediaTypesOf(body).map((type) => [
      type,
      schema === undefined
        ? { schema: bytesOf(type) }
        : { schema: schemas.collect(schema), example: exampleOf(schema) },
    ]),
  )
}

/** OpenAPI 3.1 knows of no streams: an example says what they hold. */
const eventsOf = ({ data, types: [type] }: EventStream): Json => ({
  schema: { type: 'string', contentMediaType: type, description: data.description },
  example: eventText('change', exampleOf(data), '493512000018-1'),
})

/** A body that is handed on as it came. */
function bytesOf(type: string): Json {
  if (type.endsWith('json')) return { type: 'object', additionalProperties: true }
  return /^text|xml$|javascript$/.test(type) ? { type: 'string' } : { type: 'string', format: 'binary' }
}

/** `At most 2 MB; JSON nested at most 32 levels, with at most 20,000 values.` */
function limitsInWords({ bytes, depth, values }: BodyLimits, body: NonNullable<Operation['body']>): string {
  const size = bytes < MEGABYTE ? `${bytes / 1024} KB` : `${bytes / MEGABYTE} MB`
  const isJson = !(body instanceof Raw || body instanceof Form)
  return `At most ${size}${isJson ? `; JSON nested at most ${depth} levels, with at most ${values.toLocaleString('en')} values` : ''}.`
}

const header = (description: string) => ({ description, schema: { type: 'string' } })

function success(operation: Operation, schemas: SchemaCollector): Json {
  const { creates, reply } = operation
  const made: Operation[] = creates ? [{ ...operation, reply: [201, reply[1] as TSchema, 'versioned'] }] : []
  return Object.assign({}, ...[operation, ...made].map((one) => successOf(one, schemas)))
}

function successOf(
  { method, gone, reply: [status, body, versioned] }: Operation,
  schemas: SchemaCollector,
): Json {
  const head = {
    ...(versioned ? { ETag: header('The version, in quotes') } : {}),
    ...(status === 201 ? { Location: header('Path of what was created') } : {}),
  }
  return {
    [status]: {
      description: body === undefined || body instanceof Raw ? 'Done' : (body.description ?? 'Done'),
      ...(Object.keys(head).length > 0 ? { headers: head } : {}),
      ...(body === undefined ? {} : { content: contentOf(body, schemas) }),
    },
    ...(gone ? { 204: { description: gone } } : {}),
    ...(versioned && method === 'get' ? { 304: { description: 'The client has this version already' } } : {}),
  }
}

/** One response per status, which operations with the same errors share; the errors are its examples. */
function failures(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const names = new Set([...impliedErrors(operation), ...(operation.errors ?? [])])
  const byStatus = new Map<number, ErrorName[]>()
  for (const name of names) byStatus.set(errors[name][0], [...(byStatus.get(errors[name][0]) ?? []), name])
  return Object.fromEntries(
    [...byStatus].map(([status, some]) => {
      const shared = some.toSorted().join('Or')
      refusals[shared] ??= refusal(some.toSorted(), schemas)
      return [status, { $ref: `#/components/responses/${shared}` }]
    }),
  )
}

const refusal = (names: ErrorName[], schemas: SchemaCollector): Json => ({
  description: names.map((name) => errors[name][1]).join('; or: '),
  content: {
    'application/problem+json': {
      schema: schemas.collect(Problem),
      examples: Object.fromEntries(
        names.map((name) => [errorCode(name), { $ref: `#/components/examples/${errorCode(name)}` }]),
      ),
    },
  },
})

/** Those that are referred to. */
function problemExamples(refusals: Json): Json {
  const used = JSON.stringify(refusals)
  const names = (Object.keys(errors) as ErrorName[]).filter((name) =>
    used.includes(`/examples/${errorCode(name)}"`),
  )
  return Object.fromEntries(names.map((name) => [errorCode(name), { value: problemExample(name) }]))
}
