import { type TSchema, Type } from '@sinclair/typebox'
import { closed } from '../../schemas/common.ts'
import { exampleOf } from './example.ts'
import type { Json, SchemaCollector } from './schema-collector.ts'

const ClassError = closed('ClassError', 'What went wrong, in the class family', {
  code: Type.Integer({ description: 'A number for programs', examples: [101] }),
  error: Type.String({ description: 'What it means', examples: ['Object not found.'] }),
})

const objectId = Type.String({ description: 'Object id', examples: ['m4RtYu78Io'] })
const moment = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2026-03-01T08:30:00.000Z'] })
/** Parse answers with whatever a trigger has set, too: the fields that follow from what was sent. */
const withDerived = (name: string, description: string, fields: Record<string, TSchema>) => ({
  ...closed(name, `${description}, and the fields that follow from what was sent`, fields),
  additionalProperties: true,
})
export const Created = withDerived('ObjectCreated', 'What the service added', {
  objectId,
  createdAt: moment('Time of creation'),
})
export const Updated = withDerived('ObjectUpdated', 'What the service changed', {
  updatedAt: moment('Time of the last update'),
})
export const Removed = closed('ObjectRemoved', 'Nothing remains', {})

/** What each status means, with what it says. */
const refusals: Readonly<Record<number, [name: string, description: string, code: number, error: string]>> = {
  400: [
    'ClassInvalid',
    'The input is refused: every fault of it is named',
    141,
    'Missing required properties: systolicUnit',
  ],
  401: ['ClassNoSession', 'There is no such session', 209, 'Invalid session token'],
  403: [
    'ClassNoKey',
    'Without the application id, or without one of its keys',
    119,
    'unauthorized: send X-Parse-Application-Id, and with its key one of X-Parse-REST-API-Key, …',
  ],
  404: ['ClassNotFound', 'There is no such object, or not for this user', 101, 'Object not found.'],
  408: ['ClassTooLate', 'The query took too long', 124, 'The query took too long'],
  429: ['ClassTooMany', 'Too many requests: Retry-After tells when to come again', 155, 'Too many requests'],
  503: [
    'ClassUnavailable',
    'Temporarily unavailable: Retry-After tells when to come again',
    1,
    'Temporarily unavailable',
  ],
}

interface ClassOperation {
  operationId: string
  summary: string
  /** More for the reader, in Markdown. */
  description: string
  takes?: TSchema
  answers: readonly [status: number, schema: TSchema]
  parameters?: Json[]
  security?: Json[]
}

export type OperationObject = (about: ClassOperation) => Json

export const byKeys = [{ applicationId: [], restApiKey: [] }]
const bySession = [{ applicationId: [], restApiKey: [], sessionToken: [] }]

const json = (schema: TSchema, schemas: SchemaCollector) => ({
  'application/json': { schema: schemas.collect(schema), example: exampleOf(schema) },
})

/** Describes operations of the class family; in the open test environment none needs a session. */
export const describing =
  (schemas: SchemaCollector, open: boolean): OperationObject =>
  ({ takes, answers: [status, schema], security = open ? byKeys : bySession, ...rest }) => ({
    ...rest,
    tags: ['Class family'],
    security,
    ...(takes === undefined ? {} : { requestBody: { required: true, content: json(takes, schemas) } }),
    responses: {
      [status]: { description: schema.description ?? 'Done', content: json(schema, schemas) },
      ...Object.fromEntries(
        Object.entries(refusals).map(([refused, [name]]) => [
          refused,
          { $ref: `#/components/responses/${name}` },
        ]),
      ),
      // Nobody knows yet for which family a request is that cannot be read.
      431: { $ref: '#/components/responses/HeadersTooLarge' },
    },
  })

export const responsesOf = (schemas: SchemaCollector): Json =>
  Object.fromEntries(
    Object.values(refusals).map(([name, description, code, error]) => [
      name,
      {
        description,
        content: { 'application/json': { schema: schemas.collect(ClassError), example: { code, error } } },
      },
    ]),
  )
