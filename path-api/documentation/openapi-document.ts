import type { TObject, TSchema } from '@sinclair/typebox'
import { type ErrorName, errorCatalogue, errorCode } from '../../schemas/errors.ts'
import { SERVICE_NAME } from '../../schemas/text/service-name.ts'
import { accessRules } from '../operation/access.ts'
import { type BodyLimits, isConditional, type Operation } from '../operation/operation.ts'
import { FormBody, RawBody } from '../reply/body-media.ts'
import { EventStreamBody, formatEvent } from '../reply/event-stream.ts'
import { mediaTypesOf } from '../request/request-input.ts'
import { OAuthError, oauthErrorExample } from '../response/oauth-error.ts'
import { OpenEhrError, openEhrErrorExample, openEhrStatusOf } from '../response/openehr-error.ts'
import { OperationOutcome, operationOutcomeExample } from '../response/operation-outcome.ts'
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
  ['/openehr', 'openEHR REST API', 'Operations of ITS-REST 1.0.3, for clients of openEHR'],
  ['/fhir/R4', 'FHIR R4', 'The same records as resources of FHIR R4'],
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

\`href\` and \`links\` in bodies are paths of the host, like \`Location\`: resolve them against the URL of the request.`

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
    const operationObject = describeOperation(operation, schemas, refusals)
    paths[operation.path] = { ...paths[operation.path], [operation.method]: operationObject }
  }
  const ofClasses = describeClassFamily(schemas, open)
  Object.assign(paths, ofClasses.paths)
  const usedTags = new Set(Object.keys(paths).map(tagOf))
  return {
    openapi: '3.1.0',
    info: {
      title: SERVICE_NAME,
      version,
      description: API_DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this service' },
    },
    servers: [{ url: pathPrefix || '/' }],
    tags: TAGS.filter(
      ([, name], i) => usedTags.has(name) && TAGS.findIndex(([, other]) => other === name) === i,
    ).map(([, name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.schemasByName,
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

const VERSION_TAG_SCHEMA = {
  pattern: '^(W/)?"?[A-Za-z0-9_-]+::[A-Za-z0-9_.-]+::[0-9]+"?$',
  examples: ['"8849182c-82ad-4088-a07f-48ead4180515::hrs.local::1"'],
}

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
      pattern: '^\\*$',
      examples: ['*'],
    },
  ),
  IfMatchVersion: createHeaderParameter(
    'If-Match',
    'Uid of the version that may be overwritten, with or without quotes',
    VERSION_TAG_SCHEMA,
  ),
  IfMatchVersionRequired: createHeaderParameter(
    'If-Match',
    'Uid of the version that may be overwritten, with or without quotes',
    { ...VERSION_TAG_SCHEMA, required: true },
  ),
  Prefer: createHeaderParameter(
    'Prefer',
    '`return=minimal` (default), `return=identifier` or `return=representation`',
    { pattern: '^return=(minimal|identifier|representation)$', examples: ['return=representation'] },
  ),
  AuditDetails: createHeaderParameter(
    'openehr-audit-details',
    'Committal metadata: `change_type.code_string`, `description.value`, `committer.name`, and `committer.external_ref` with `id`, `namespace` and `type`',
    { pattern: '^[!-~ ]*$', examples: ['description.value="A correction",committer.name="Anna de Vries"'] },
  ),
  VersionDetails: createHeaderParameter(
    'openehr-version',
    'Committal metadata: `lifecycle_state.code_string`',
    {
      pattern: '^[!-~ ]*$',
      examples: ['lifecycle_state.code_string="532"'],
    },
  ),
  EhrId: createHeaderParameter('openEHR-EHR-id', 'Id of the only EHR to search, like `ehr_id`', {
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    examples: ['6865616c-7468-8ec0-8bc3-d1c8b3a5f0e7'],
  }),
  LastEventId: createHeaderParameter(
    'Last-Event-ID',
    'ID of the last event received; the stream resumes after it',
    {
      pattern: '^\\d{1,15}-\\d{1,3}$',
      examples: ['493512000018-1'],
    },
  ),
  IdempotencyKey: createHeaderParameter(
    'Idempotency-Key',
    'Key chosen by the client, different for each request; a repeated request gets the first response',
    { pattern: '^[!-~]{1,255}$', examples: ['5f0c2a1e-8f0b-4f0e-9a53-2d1f3c1a9b7e'] },
  ),
}

function describeOperation(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const { id, summary, path, access, body, alsoAs = [], limits, source, extra } = operation
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
            content: { ...createBodyContent(body, schemas), ...createOtherContent(alsoAs) },
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
  const { method, ifMatch, creates, resumes, reply, api } = operation
  if (api === 'openehr') return openEhrHeaderNamesOf(operation)
  if (method === 'post') return isConditional(operation) ? ['IdempotencyKey', 'IfMatch'] : ['IdempotencyKey']
  if (method === 'get' && resumes) return ['LastEventId']
  if (method === 'get') return reply[2] ? ['IfNoneMatch'] : []
  return [
    ifMatch === 'required' ? 'IfMatchRequired' : 'IfMatch',
    ...(creates ? (['IfNoneMatchAny'] as const) : []),
  ]
}

/** Queries take an EHR; changes of an EHR take committal metadata; responses show as much as the client prefers. */
function openEhrHeaderNamesOf({
  method,
  ifMatch,
  path,
  reply,
}: Operation): (keyof typeof HEADER_PARAMETERS)[] {
  const queryHeaders = path.startsWith('/openehr/v1/query/') ? (['EhrId'] as const) : []
  if (method === 'get') return reply[2] ? ['IfNoneMatch'] : [...queryHeaders]
  if (method === 'options') return []
  return [
    ...queryHeaders,
    ...(method === 'post' ? (['IdempotencyKey'] as const) : []),
    ...(ifMatch === 'required' ? (['IfMatchVersionRequired'] as const) : []),
    ...(method !== 'post' && ifMatch !== 'required' ? (['IfMatchVersion'] as const) : []),
    ...(method !== 'delete' && reply[2] ? (['Prefer'] as const) : []),
    ...(path.includes('{ehrId}/') ? (['AuditDetails', 'VersionDetails'] as const) : []),
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

function schemaOfBody(body: TSchema | RawBody | FormBody<TSchema>): TSchema | undefined {
  if (body instanceof RawBody) return body.json
  return body instanceof FormBody ? body.schema : body
}

function createBodyContent(body: TSchema | RawBody | FormBody<TSchema>, schemas: SchemaCollector): Json {
  if (body instanceof EventStreamBody) return { [body.types[0]]: createEventStreamContent(body, schemas) }
  const schema = schemaOfBody(body)
  return Object.fromEntries(
    mediaTypesOf(body).map((type) => [
      type,
      schema === undefined || (body instanceof RawBody && !type.endsWith('json'))
        ? { schema: createBytesContent(type) }
        : {
            schema: schemas.collect(schema),
            ...(isExampleKnown(body, schema) && { example: exampleOf(schema) }),
          },
    ]),
  )
}

const createOtherContent = (types: readonly string[]): Json =>
  Object.fromEntries(types.map((type) => [type, { schema: createBytesContent(type) }]))

/** The classes of the reference model have no examples: their members would not fit each other. */
const isExampleKnown = (body: TSchema | RawBody | FormBody<TSchema>, schema: TSchema): boolean =>
  !(body instanceof RawBody) || schema.examples !== undefined

/** OpenAPI 3.1 cannot describe streams: an example shows an event, and an extension has the schema of its data. */
const createEventStreamContent = (
  { data, types: [type] }: EventStreamBody,
  schemas: SchemaCollector,
): Json => ({
  schema: { type: 'string', contentMediaType: type, description: data.description },
  'x-itemSchema': schemas.collect(data),
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
  const creations: Operation[] = creates
    ? [{ ...operation, reply: [201, body as TSchema, ...versioned] }]
    : []
  return Object.assign({}, ...[operation, ...creations].map((one) => describeSuccessResponse(one, schemas)))
}

function describeSuccessResponse(
  { method, pending, gone, redirect, reply: [status, body, versioned] }: Operation,
  schemas: SchemaCollector,
): Json {
  const head = {
    ...(versioned ? { ETag: createHeaderObject('Version in quotes') } : {}),
    ...(status === 201
      ? { Location: createHeaderObject('Path of the created resource, if a GET shows it') }
      : {}),
  }
  return {
    [status]: {
      description: body === undefined || body instanceof RawBody ? 'Done' : (body.description ?? 'Done'),
      ...(Object.keys(head).length > 0 ? { headers: head } : {}),
      ...(body === undefined ? {} : { content: createBodyContent(body, schemas) }),
    },
    ...(pending ? { 202: { description: pending } } : {}),
    ...(gone ? { 204: { description: gone } } : {}),
    ...(redirect ? { 303: { description: redirect } } : {}),
    ...(versioned && method === 'get' ? { 304: { description: 'The client already has this version' } } : {}),
  }
}

/**
 * Creates one response per status. Operations with the same errors share it; its examples are these errors.
 */
function describeErrorResponses(operation: Operation, schemas: SchemaCollector, refusals: Json): Json {
  const names = new Set([...impliedErrors(operation), ...(operation.errors ?? [])])
  const format = errorFormatOf(operation)
  const byStatus = new Map<number, ErrorName[]>()
  for (const name of names)
    byStatus.set(format.statusOf(name), [...(byStatus.get(format.statusOf(name)) ?? []), name])
  return Object.fromEntries(
    [...byStatus].map(([status, entries]) => {
      const responseName = format.prefix + entries.toSorted().join('Or')
      refusals[responseName] ??= createErrorResponse(entries.toSorted(), format, schemas)
      return [status, { $ref: `#/components/responses/${responseName}` }]
    }),
  )
}

/** The documents of errors: problem documents, or the errors of ITS-REST. */
const ERROR_FORMATS = {
  problem: {
    prefix: '',
    mediaType: 'application/problem+json',
    schema: ProblemDocument,
    statusOf: (name: ErrorName): number => errorCatalogue[name][0],
    exampleName: errorCode,
    exampleOf: problemExample as (name: ErrorName) => object,
  },
  fhir: {
    prefix: 'Fhir',
    mediaType: 'application/fhir+json',
    schema: OperationOutcome,
    statusOf: (name: ErrorName): number => errorCatalogue[name][0],
    exampleName: (name: ErrorName): string => `fhir-${errorCode(name)}`,
    exampleOf: operationOutcomeExample as (name: ErrorName) => object,
  },
  oauth: {
    prefix: 'OAuth',
    mediaType: 'application/json',
    schema: OAuthError,
    statusOf: (name: ErrorName): number => errorCatalogue[name][0],
    exampleName: (name: ErrorName): string => `oauth-${errorCode(name)}`,
    exampleOf: oauthErrorExample as (name: ErrorName) => object,
  },
  openehr: {
    prefix: 'OpenEhr',
    mediaType: 'application/json',
    schema: OpenEhrError,
    statusOf: openEhrStatusOf,
    exampleName: (name: ErrorName): string => `openehr-${errorCode(name)}`,
    exampleOf: openEhrErrorExample as (name: ErrorName) => object,
  },
}
type ErrorFormat = (typeof ERROR_FORMATS)[keyof typeof ERROR_FORMATS]

const errorFormatOf = ({ api }: Operation): ErrorFormat => ERROR_FORMATS[api ?? 'problem']

const createErrorResponse = (
  names: ErrorName[],
  { mediaType, schema, exampleName }: ErrorFormat,
  schemas: SchemaCollector,
): Json => ({
  description: names.map((name) => errorCatalogue[name][1]).join('; or: '),
  content: {
    [mediaType]: {
      schema: schemas.collect(schema),
      examples: Object.fromEntries(
        names.map((name) => [errorCode(name), { $ref: `#/components/examples/${exampleName(name)}` }]),
      ),
    },
  },
})

/** Returns only the examples that a response refers to. */
function createProblemExamples(refusals: Json): Json {
  const refusalsJson = JSON.stringify(refusals)
  const names = Object.keys(errorCatalogue) as ErrorName[]
  return Object.fromEntries(
    Object.values(ERROR_FORMATS).flatMap(({ exampleName, exampleOf: example }) =>
      names
        .filter((name) => refusalsJson.includes(`/examples/${exampleName(name)}"`))
        .map((name) => [exampleName(name), { value: example(name) }]),
    ),
  )
}
