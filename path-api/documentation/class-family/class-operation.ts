import { type TSchema, Type } from '@sinclair/typebox'
import { closedObject } from '../../../schemas/common.ts'
import { exampleOf } from '../example.ts'
import type { Json, SchemaCollector } from '../schema-collector.ts'

const ClassError = closedObject('ClassError', 'An error of the class family', {
  code: Type.Integer({ description: 'Error code of Parse', examples: [101] }),
  error: Type.String({ description: 'Error message', examples: ['Object not found.'] }),
})

const objectId = Type.String({ description: 'Object id', examples: ['m4RtYu78Io'] })
const createMomentSchema = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00.000Z'] })
/** Parse also returns all fields that a trigger has set, so the schema is open. */
const createWriteResultSchema = (name: string, description: string, fields: Record<string, TSchema>) => ({
  ...closedObject(name, `${description}, and fields derived from the request`, fields),
  additionalProperties: true,
})
export const ObjectCreated = createWriteResultSchema('ObjectCreated', 'Fields that the service added', {
  objectId,
  createdAt: createMomentSchema('Time of creation'),
})
export const ObjectUpdated = createWriteResultSchema('ObjectUpdated', 'Fields that the service changed', {
  updatedAt: createMomentSchema('Time of the last update'),
})
export const ObjectRemoved = closedObject('ObjectRemoved', 'Empty object', {})

/** Error responses by status: name, description, and an example of code and message. */
const ERROR_RESPONSES: Readonly<
  Record<number, [name: string, description: string, code: number, error: string]>
> = {
  400: [
    'ClassInvalid',
    'The input is invalid; the error names every violation',
    141,
    'Missing required properties: systolicUnit',
  ],
  401: ['ClassNoSession', 'The session does not exist', 209, 'Invalid session token'],
  403: [
    'ClassNoKey',
    'The application id or its key is missing',
    119,
    'unauthorized: send X-Parse-Application-Id, and with its key one of X-Parse-REST-API-Key, …',
  ],
  404: [
    'ClassNotFound',
    'The object does not exist, or the user has no access to it',
    101,
    'Object not found.',
  ],
  408: ['ClassTooLate', 'The query took too long', 124, 'The query took too long'],
  429: [
    'ClassTooMany',
    'Too many requests. Retry after the number of seconds in Retry-After',
    155,
    'Too many requests',
  ],
  503: [
    'ClassUnavailable',
    'Temporarily unavailable. Retry after the number of seconds in Retry-After',
    1,
    'Temporarily unavailable',
  ],
}

/** Responses to a header that names versions. */
const VERSION_RESPONSES = {
  IfMatch: {
    412: { $ref: '#/components/responses/ClassChanged' },
    428: { $ref: '#/components/responses/ClassUnseen' },
  },
  IfNoneMatch: { 304: { description: 'The client already has this version' } },
}

const VERSION_REFUSALS = [
  [
    'ClassChanged',
    'The object has another version, shown by the ETag of the response',
    412,
    'The object has changed since it was read. Read it again and retry.',
  ],
  [
    'ClassUnseen',
    'If-Match names no version',
    107,
    'If-Match: * names no version. Send the ETag of the version that you have read.',
  ],
] as const

const ETAG_HEADER = {
  ETag: { description: 'Version in quotes, if the response contains it', schema: { type: 'string' } },
}

export interface ClassOperation {
  operationId: string
  summary: string
  /** Details in Markdown. */
  description: string
  /** Clause of the specification that requires the operation, or the reason for one that is `extra`. */
  source: string
  /** The specification does not list the operation. */
  extra?: true
  takes?: TSchema
  answers: readonly [status: number, schema: TSchema]
  parameters?: Json[]
  security?: Json[]
  /** Header that names versions of the object; its responses carry the ETag. */
  versions?: 'IfMatch' | 'IfNoneMatch'
}

export type DescribeOperation = (operation: ClassOperation) => Json

/** The value of the extension property `x-specification`: clients' authors do not have the document. */
export const specificationOf = (source: string, extra = false): string =>
  extra ? `Beyond the specification: ${source}` : source

export const API_KEY_SECURITY = [{ applicationId: [], restApiKey: [] }]
const SESSION_SECURITY = [{ applicationId: [], restApiKey: [], sessionToken: [] }]

const createJsonContent = (schema: TSchema, schemas: SchemaCollector) => ({
  'application/json': { schema: schemas.collect(schema), example: exampleOf(schema) },
})

/** Describes operations of the class family. The open test environment requires no session. */
export const createDescribeOperation =
  (schemas: SchemaCollector, open: boolean): DescribeOperation =>
  ({
    takes,
    answers: [status, schema],
    security = open ? API_KEY_SECURITY : SESSION_SECURITY,
    source,
    extra,
    versions,
    parameters = [],
    ...rest
  }) => {
    // The classes of the open test environment have no versions.
    const header = open ? undefined : versions
    return {
      ...rest,
      ...(header || parameters.length > 0
        ? { parameters: [...parameters, ...(header ? [{ $ref: `#/components/parameters/${header}` }] : [])] }
        : {}),
      'x-specification': specificationOf(source, extra),
      tags: ['Class family'],
      security,
      ...(takes === undefined
        ? {}
        : { requestBody: { required: true, content: createJsonContent(takes, schemas) } }),
      responses: {
        [status]: {
          description: schema.description ?? 'Done',
          ...(header ? { headers: ETAG_HEADER } : {}),
          content: createJsonContent(schema, schemas),
        },
        ...(header && VERSION_RESPONSES[header]),
        ...Object.fromEntries(
          Object.entries(ERROR_RESPONSES).map(([errorStatus, [name]]) => [
            errorStatus,
            { $ref: `#/components/responses/${name}` },
          ]),
        ),
        // Node refuses oversized headers before the family of the request is known.
        431: { $ref: '#/components/responses/HeadersTooLarge' },
      },
    }
  }

export const createErrorResponses = (schemas: SchemaCollector): Json =>
  Object.fromEntries(
    [...Object.values(ERROR_RESPONSES), ...VERSION_REFUSALS].map(([name, description, code, error]) => [
      name,
      {
        description,
        content: { 'application/json': { schema: schemas.collect(ClassError), example: { code, error } } },
      },
    ]),
  )
