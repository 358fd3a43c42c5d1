import type { TObject, TSchema } from '@sinclair/typebox'
import { type ErrorName, errorCatalogue, errorCode } from '../../schemas/errors.ts'
import { accessRules } from '../operation/access.ts'
import { type BodyLimits, isConditional, type Operation } from '../operation/operation.ts'
import { FormBody, RawBody } from '../reply/body-media.ts'
import { EventStreamBody, formatEvent } from '../reply/event-stream.ts'
import { mediaTypesOf } from '../request/request-input.ts'
import { impliedErrors, ProblemDocument, problemExample } from '../response/problem-document.ts'
import { describeClassFamily } from './class-family/class-family-paths.ts'
import { specificationOf } from './class-family/class-operation.ts'
import { exampleOf } from './example.ts'
import { type Json, SchemaCollector } from './schema-collector.ts'

const TAGS: [prefix: string, name: string, description: string][] = [
  ['/auth/login', 'Login', 'Tokens: login, refresh, verification'],
  ['/auth', 'Accounts', 'Accounts: registration, activation, passwords, sessions'],
  ['/profile', 'Profile', 'Persons: addresses, contacts, relations, network'],
  ['/ehr', 'EHR data', 'Electronic health records, care plans and the records registered in them'],
  ['/med', 'Medical data', 'Care plans, events, compositions, templates, queries'],
  ['/data', 'Data', 'Measurements and events of a user, and their types'],
  ['/chat', 'Chat', 'Topics and messages'],
  ['/1/', 'Class family', 'Objects of classes, through the interface of Parse Server'],
  ['/functions', 'Class family', 'Functions of the class family'],
  ['/', 'Service', 'The service itself'],
]
const MEGABYTE_BYTES = 1024 * 1024

const tagOf = (path: string): string => TAGS.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'Service'

const API_DESCRIPTION = `Electronic health records, care plans and measurements.

Errors are problem documents (RFC 9457): \`code\` is for programs, \`errors\` names everything that is wrong with the
input. Single resources carry an ETag; send it as If-Match with a change and as If-None-Match with a repeated read.
A PUT accepts the read-only properties of its resource as GET shows them, and refuses changed ones by name.
A POST with an Idempotency-Key may be repeated safely for 24 hours.

\`/ehr\` and \`/med\` give access to the same records under the same rules: an id from one is valid in the other.

\`href\` and \`links\` in bodies are paths of the host, like \`Location\`: resolve them against the address of the request.`

/**
 * Creates the OpenAPI 3.1 document of both families from the operation table and the class definitions.
 * @param pathPrefix path of PUBLIC_URL
 * @param open describes the open test environment
 */
export function createOpenApiDocument(
  operations: readonly Operation[],
  version: string,
  { pathPrefix = '', open = false }: { pathPrefix?: string; open?: boolean | undefined } = {},
): Json {
  const schemas = new SchemaCollector()
  const refusals: Json = {}
  const paths: Record<string, Json> = {}
  for (const operation of operations) {
    const described = describeOperation(operation, schemas, refusals)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: described }
  }
  const ofClasses = describeClassFamily(schemas, open)
  Object.assign(paths, ofClasses.paths)
  const used = new Set(Object.keys(paths).map(tagOf))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Health Record Service',
      version,
      description: API_DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this service' },
    },
    servers: [{ url: pathPrefix || '/' }],
    tags: TAGS.filter(
      ([, name], i) => used.has(name) && TAGS.findIndex(([, other]) => other === name) === i,
    ).map(([, name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.named,
      responses: { ...refusals, ...ofClasses.responses },
      examples: createProblemExamples(refusals),
      parameters: { ...HEADER_PARAMETERS, ...ofClasses.parameters },
      securitySchemes,
    },
  }
}

const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'Access token: the `authToken` of a login',
  },
  authToken: { type: 'apiKey', in: 'header', name: 'authToken' },
  cookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'authToken',
    description: 'Access token as the cookie `authToken`, for pages of the service itself',
  },
  applicationId: { type: 'apiKey', in: 'header', name: 'X-Parse-Application-Id' },
  restApiKey: { type: 'apiKey', in: 'header', name: 'X-Parse-REST-API-Key' },
  sessionToken: { type: 'apiKey', in: 'header', name: 'X-Parse-Session-Token' },
}

const createHeaderParameter = (
  name: string,
  description: string,
  { required = false, ...schema }: { pattern: string; examples: string[]; required?: boolean },
) => ({ name, in: 'header', required, description, schema: { type: 'string', ...schema } })

const ENTITY_TAG_LIST = '(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*'
const IF_MATCH_SCHEMA = { pattern: `^${ENTITY_TAG_LIST}$`, examples: ['"3"'] }

const HEADER_PARAMETERS = {
  IfMatch: createHeaderParameter(
    'If-Match',
    'ETags of the versions that may be overwritten; `*` names none and gets a 428',
    IF_MATCH_SCHEMA,
  ),
  IfMatchRequired: createHeaderParameter('If-Match', 'ETag of the version that may be overwritten', {
    ...IF_MATCH_SCHEMA,
    required: true,
  }),
  IfNoneMatch: createHeaderParameter('If-None-Match', 'ETags of the versions that the client has cached', {
    pattern: `^(\\*|${ENTITY_TAG_LIST})$`,
    examples: ['"3"'],
  }),
  IfNoneMatchAny: createHeaderParameter(
    'If-None-Match',
    '`*` to create only: the request fails if the resource exists',
    {
      ...{ pattern: '^\\*$', examples: ['*'] },
    },
  ),
  LastEventId: createHeaderParameter(
    'Last-Event-ID',
    'ID of the last event received; the stream resumes after it',
    {
      ...{ pattern: '^\\d{1,15}-\\d{1,3}$', examples: ['493512000018-1'] },
    },
  ),
  IdempotencyKey: createHeaderParameter(
    'Idempotency-Key',
    'Key chosen by the client, different for each request; a repeated request gets the first response',
    { pattern: '^[!-~]{1,255}$', examples: ['5f0c2a1e-8f0b-4f0e-9a53-2d1f3c1a9b7e'] },
  ),
}

function describeOperation(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const { id, summary, path, access, body, limits, source, extra } = operation
  return {
    operationId: id,
    tags: [tagOf(path)],
    summary,
    description: descriptionOf(operation),
    'x-specification': specificationOf(source, extra),
    security: securityRequirementsOf(access),
    parameters: [
      ...createParameters('path', operation.params, schemas),
      ...createParameters('query', operation.query, schemas),
      ...headerNamesOf(operation).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            description: describeLimits(limits, body),
            required: true,
            content: createBodyContent(body, schemas),
          },
        }),
    responses: {
      ...describeSuccessResponses(operation, schemas),
      ...describeErrorResponses(operation, schemas, refusals),
    },
  }
}

function descriptionOf({ description, access }: Operation): string {
  const who = access === 'public' || access === 'optional' ? 'anyone' : accessRules[access].who
  return [description, `Access: ${who}.`].filter(Boolean).join('\n\n')
}

function securityRequirementsOf(access: Operation['access']): Json[] {
  if (access === 'public') return []
  const token = [{ bearer: [] }, { authToken: [] }, { cookie: [] }]
  return access === 'optional' ? [{}, ...token] : token
}

function headerNamesOf(operation: Operation): (keyof typeof HEADER_PARAMETERS)[] {
  const { method, ifMatch, creates, resumes, reply } = operation
  if (method === 'post') return isConditional(operation) ? ['IdempotencyKey', 'IfMatch'] : ['IdempotencyKey']
  if (method === 'get') return resumes ? ['LastEventId'] : reply[2] ? ['IfNoneMatch'] : []
  return [
    ifMatch === 'required' ? 'IfMatchRequired' : 'IfMatch',
    ...(creates ? (['IfNoneMatchAny'] as const) : []),
  ]
}

function createParameters(
  place: 'path' | 'query',
  { properties, required = [] }: TObject,
  schemas: SchemaCollector,
): Json[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    description: `${schema.description ?? name}${schema.format === 'date-time' ? '; a date without a time means 00:00 UTC' : ''}`,
    schema: schemas.collect(schema),
  }))
}

function createBodyContent(body: TSchema | RawBody | FormBody<TSchema>, schemas: SchemaCollector): Json {
  if (body instanceof EventStreamBody) return { [body.types[0]]: createEventStreamContent(body) }
  const schema = body instanceof RawBody ? undefined : body instanceof FormBody ? body.schema : body
  return Object.fromEntries(
    mediaTypesOf(body).map((type) => [
      type,
      schema === undefined
        ? { schema: createBytesContent(type) }
        : { schema: schemas.collect(schema), example: exampleOf(schema) },
    ]),
  )
}

/** OpenAPI 3.1 cannot describe streams, so an example shows an event. */
const createEventStreamContent = ({ data, types: [type] }: EventStreamBody): Json => ({
  schema: { type: 'string', contentMediaType: type, description: data.description },
  example: formatEvent('change', exampleOf(data), '493512000018-1'),
})

/** Schema of a raw body. */
function createBytesContent(type: string): Json {
  if (type.endsWith('json')) return { type: 'object', additionalProperties: true }
  return /^text|xml$|javascript$/.test(type) ? { type: 'string' } : { type: 'string', format: 'binary' }
}

/** `At most 2 MB; JSON nested at most 32 levels, with at most 20,000 values.` */
function describeLimits({ bytes, depth, values }: BodyLimits, body: NonNullable<Operation['body']>): string {
  const size = bytes < MEGABYTE_BYTES ? `${bytes / 1024} KB` : `${bytes / MEGABYTE_BYTES} MB`
  const isJson = !(body instanceof RawBody || body instanceof FormBody)
  return `At most ${size}${isJson ? `; JSON nested at most ${depth} levels, with at most ${values.toLocaleString('en')} values` : ''}.`
}

const createHeaderObject = (description: string) => ({ description, schema: { type: 'string' } })

function describeSuccessResponses(operation: Operation, schemas: SchemaCollector): Json {
  const { creates, reply } = operation
  const [, body, ...versioned] = reply
  const created: Operation[] = creates ? [{ ...operation, reply: [201, body as TSchema, ...versioned] }] : []
  return Object.assign({}, ...[operation, ...created].map((one) => describeSuccessResponse(one, schemas)))
}

function describeSuccessResponse(
  { method, gone, reply: [status, body, versioned] }: Operation,
  schemas: SchemaCollector,
): Json {
  const head = {
    ...(versioned ? { ETag: createHeaderObject('Version in quotes') } : {}),
    ...(status === 201 ? { Location: createHeaderObject('Path of the created resource') } : {}),
  }
  return {
    [status]: {
      description: body === undefined || body instanceof RawBody ? 'Done' : (body.description ?? 'Done'),
      ...(Object.keys(head).length > 0 ? { headers: head } : {}),
      ...(body === undefined ? {} : { content: createBodyContent(body, schemas) }),
    },
    ...(gone ? { 204: { description: gone } } : {}),
    ...(versioned && method === 'get' ? { 304: { description: 'The client already has this version' } } : {}),
  }
}

/**
 * Creates one response per status. Operations with the same errors share it; its examples are these errors.
 */
function describeErrorResponses(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const names = new Set([...impliedErrors(operation), ...(operation.errors ?? [])])
  const byStatus = new Map<number, ErrorName[]>()
  for (const name of names)
    byStatus.set(errorCatalogue[name][0], [...(byStatus.get(errorCatalogue[name][0]) ?? []), name])
  return Object.fromEntries(
    [...byStatus].map(([status, entries]) => {
      const shared = entries.toSorted().join('Or')
      refusals[shared] ??= createErrorResponse(entries.toSorted(), schemas)
      return [status, { $ref: `#/components/responses/${shared}` }]
    }),
  )
}

const createErrorResponse = (names: ErrorName[], schemas: SchemaCollector): Json => ({
  description: names.map((name) => errorCatalogue[name][1]).join('; or: '),
  content: {
    'application/problem+json': {
      schema: schemas.collect(ProblemDocument),
      examples: Object.fromEntries(
        names.map((name) => [errorCode(name), { $ref: `#/components/examples/${errorCode(name)}` }]),
      ),
    },
  },
})

/** Returns only the examples that a response refers to. */
function createProblemExamples(refusals: Json): Json {
  const used = JSON.stringify(refusals)
  const names = (Object.keys(errorCatalogue) as ErrorName[]).filter((name) =>
    used.includes(`/examples/${errorCode(name)}"`),
  )
  return Object.fromEntries(names.map((name) => [errorCode(name), { value: problemExample(name) }]))
}
