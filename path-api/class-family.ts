import { type TSchema, Type } from '@sinclair/typebox'
import { type ClassName, classes } from '../schemas/classes.ts'
import { closed } from '../schemas/common.ts'
import { exampleOf } from './example.ts'
import type { Json, SchemaCollector } from './schema-collector.ts'

const ClassError = closed('ClassError', 'What went wrong, in the class family', {
  code: Type.Integer({ description: 'A number for programs', examples: [101] }),
  error: Type.String({ description: 'What it means', examples: ['Object not found.'] }),
})

const moment = Type.String({ format: 'date-time' })
const Created = closed('ObjectCreated', 'What the service added', {
  objectId: Type.String(),
  createdAt: moment,
})
const Updated = closed('ObjectUpdated', 'What the service changed', { updatedAt: moment })
const Removed = closed('ObjectRemoved', 'Nothing remains', {})
const listOf = (item: TSchema) =>
  Type.Object(
    { results: Type.Array(item), count: Type.Optional(Type.Integer()) },
    { description: 'The objects, and their count when it was asked' },
  )

const filters = [
  ['where', 'Filter: a JSON condition', '{"status":"ACTIVE"}'],
  ['order', 'Properties to sort by, with commas between; `-` before one turns it round', '-createdAt'],
  ['limit', 'Objects at most: 100, at most 1000', '100'],
  ['skip', 'Objects to leave out at the beginning', '0'],
  ['distinct', 'Property whose different values are wanted', 'status'],
  ['count', '1: count the objects', '1'],
] as const
const query = filters.map(([name, description, example]) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', examples: [example] },
}))
const objectId = {
  name: 'objectId',
  in: 'path',
  required: true,
  description: 'Object id',
  schema: { type: 'string' },
}

const tags = ['Class family']
const security = [{ applicationId: [], restApiKey: [], sessionToken: [] }]

/** The class family's paths, for the document that describes both families. */
export function classFamily(schemas: SchemaCollector): Record<string, Json> {
  return Object.assign({}, ...(Object.keys(classes) as ClassName[]).map((name) => pathsOf(name, schemas)))
}

function pathsOf(name: ClassName, schemas: SchemaCollector): Record<string, Json> {
  const { stored, create, update } = classes[name]
  const json = (schema: TSchema) => ({
    'application/json': { schema: schemas.collect(schema), example: exampleOf(schema) },
  })
  const answers = (status: number, schema: TSchema) => ({
    [status]: { description: schema.description ?? 'Done', content: json(schema) },
    ...Object.fromEntries(
      ['400', '401', '404'].map((fault) => [fault, { description: 'Refused', content: json(ClassError) }]),
    ),
  })
  const operation = (verb: string, summary: string, responses: Json, rest: Json = {}) => ({
    operationId: `${verb}${name}Object`,
    summary,
    tags,
    security,
    responses,
    ...rest,
  })
  const taking = (schema: TSchema) => ({ requestBody: { required: true, content: json(schema) } })
  return {
    [`/1/classes/${name}`]: {
      get: operation('list', `List ${name} objects`, answers(200, listOf(stored)), { parameters: query }),
      post: operation('create', `Add a ${name} object`, answers(201, Created), taking(create)),
    },
    [`/1/classes/${name}/{objectId}`]: {
      parameters: [objectId],
      get: operation('get', `Get a ${name} object`, answers(200, stored)),
      put: operation('update', `Update a ${name} object`, answers(200, Updated), taking(update)),
      delete: operation('delete', `Delete a ${name} object`, answers(200, Removed)),
    },
  }
}
