import { type TSchema, Type } from '@sinclair/typebox'
import { CLASS_NAMES, classes, classKind } from '../../records/kinds.ts'
import { AcqParams, AcqResult } from '../../schemas/acq.ts'
import { ConditionParams, ConditionResult } from '../../schemas/blood-pressure-condition.ts'
import { BmiParams, BmiResult } from '../../schemas/bmi.ts'
import { articled, closed } from '../../schemas/common.ts'
import { accountPaths } from './class-accounts.ts'
import { Created, describing, type OperationObject, Removed, responsesOf, Updated } from './class-parts.ts'
import type { Json, SchemaCollector } from './schema-collector.ts'

const filters = [
  ['where', 'Filter: a JSON condition', { type: 'string', examples: ['{"status":"ACTIVE"}'] }],
  [
    'order',
    'Properties to sort by, separated by commas; `-` before one sorts descending',
    { type: 'string', examples: ['-createdAt'] },
  ],
  [
    'limit',
    'Maximum number of objects: 100 by default, at most 1000',
    { type: 'integer', minimum: 0, examples: [100] },
  ],
  ['skip', 'Number of objects to skip', { type: 'integer', minimum: 0, examples: [0] }],
  ['count', '1: count the objects', { type: 'integer', enum: [0, 1], examples: [1] }],
] as const

const inPath = (name: string, description: string, schema: Json) => ({
  ...{ name, in: 'path', required: true, description },
  schema: { type: 'string', ...schema },
})

const parameters: Record<string, Json> = {
  ...Object.fromEntries(
    filters.map(([name, description, schema]) => [name, { name, in: 'query', description, schema }]),
  ),
  objectId: inPath('objectId', 'Object id', { examples: ['m4RtYu78Io'] }),
}
const className = inPath('className', 'Class; it is made with its first object', {
  pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
  examples: ['BloodPressure'],
})
const shared = (name: string): Json => ({ $ref: `#/components/parameters/${name}` })

/**
 * The class family's paths and what they share, for the document that describes both families.
 * @param open whether it is that of the open test environment: without sessions, and with whatever classes clients make
 */
export function classFamily(
  schemas: SchemaCollector,
  open: boolean,
): Record<'paths' | 'responses' | 'parameters', Json> {
  const operationObject = describing(schemas, open)
  const ofClasses = CLASS_NAMES.map((name) =>
    classPaths(name, name, classes[name], operationObject, classKind(name).readOnly),
  )
  const anything = { stored: Anything, create: Anything, update: Anything }
  return {
    paths: Object.assign(
      accountPaths(operationObject, open),
      ...(open ? [withClassName(classPaths('{className}', 'Any', anything, operationObject))] : ofClasses),
      functionPaths(operationObject),
      batchPath(operationObject),
    ),
    responses: responsesOf(schemas),
    parameters: open ? { ...parameters, className } : parameters,
  }
}

const Anything = Type.Object({}, { $id: 'AnyObject', additionalProperties: true, description: 'An object' })

const withClassName = (paths: Record<string, Json>): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(paths).map(([path, about]) => [
      path,
      { ...about, parameters: [shared('className'), ...((about.parameters ?? []) as Json[])] },
    ]),
  )

/** An object as Parse shows it: with who may read and write it, and after a trigger with its class. */
const asParseShows = (stored: TSchema): TSchema =>
  stored === Anything
    ? stored
    : {
        ...stored,
        properties: {
          ...stored.properties,
          ACL: Type.Optional(
            Type.Record(Type.String(), Type.Object({}, { additionalProperties: Type.Boolean() }), {
              description: 'Who may read and write it: ids of users, and `role:` with the names of roles',
              examples: [{ m4RtYu78Io: { read: true, write: true } }],
            }),
          ),
          className: Type.Optional(Type.String({ description: 'Its class' })),
        },
      }

const listOf = (name: string, item: TSchema) =>
  closed(`${name}Objects`, 'The objects, and their count if it was requested', {
    results: Type.Array(item, { description: 'The objects' }),
    count: Type.Optional(Type.Integer({ description: 'How many there are in all', examples: [1] })),
  })

const functions: Readonly<Record<string, [takes: TSchema, result: TSchema]>> = {
  bmi: [BmiParams, BmiResult],
  acq: [AcqParams, AcqResult],
  bloodPressureCondition: [ConditionParams, ConditionResult],
}

const functionPaths = (operationObject: OperationObject): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(functions).map(([name, [takes, result]]) => [
      `/functions/${name}`,
      {
        post: operationObject({
          operationId: `${name}Function`,
          summary: takes.description ?? name,
          description: 'Calculates, and stores nothing. Also at `/1/functions`.',
          takes,
          answers: [200, closed(`${result.$id}Answer`, 'What was calculated', { result })],
        }),
      },
    ]),
  )

const batchedRequest = Type.Object(
  {
    method: Type.Unsafe<string>({
      ...{ type: 'string', enum: ['POST', 'PUT', 'DELETE', 'GET'] },
      description: 'Method',
      examples: ['POST'],
    }),
    path: Type.String({
      description: 'Path, without a query',
      examples: ['/1/classes/Task'],
      pattern: '^/1/',
    }),
    body: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'What the request itself would carry',
          examples: [{ goalId: 'g3HjKl56Ty', name: 'Buy good shoes' }],
        },
      ),
    ),
  },
  { additionalProperties: false, description: 'One request' },
)
const Batch = closed('Batch', 'Several requests at once', {
  requests: Type.Array(batchedRequest, {
    maxItems: 50,
    description: 'Each is done by itself, in this order',
  }),
})
const outcome = Type.Object(
  {
    success: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'What the request itself would have been answered',
          examples: [{ objectId: 't9VcXs40Re', createdAt: '2026-03-01T08:30:00.000Z' }],
        },
      ),
    ),
    error: Type.Optional(
      Type.Object(
        {
          code: Type.Integer({ description: 'As in a refusal' }),
          error: Type.String({ description: 'Why' }),
        },
        { description: 'Why it was refused', examples: [{ code: 101, error: 'Object not found.' }] },
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'One of both',
    examples: [{ success: { objectId: 't9VcXs40Re', createdAt: '2026-03-01T08:30:00.000Z' } }],
  },
)
const Outcomes = Type.Array(outcome, {
  $id: 'BatchOutcomes',
  description: 'What became of each, in the same order',
})

const batchPath = (operationObject: OperationObject): Record<string, Json> => ({
  '/1/batch': {
    post: operationObject({
      operationId: 'sendBatch',
      summary: 'Send up to 50 requests at once',
      description:
        'Each counts against the limits and is done by itself: a batch cannot be a transaction. Requests about accounts stand alone.',
      takes: Batch,
      answers: [200, Outcomes],
    }),
  },
})

/**
 * @param path the name of the class as it stands in paths, `name` as it stands in ids
 * @param readOnly whether only the service writes them
 */
function classPaths(
  path: string,
  name: string,
  { stored, create, update }: Record<'stored' | 'create' | 'update', TSchema>,
  operationObject: OperationObject,
  readOnly = false,
): Record<string, Json> {
  const id = (verb: string) => `${verb}${name}Object`
  const one = `${articled(name)} object`
  return {
    [`/1/classes/${path}`]: {
      get: operationObject({
        operationId: id('list'),
        summary: `List ${name} objects`,
        description:
          'Those that the caller may read. With `distinct=` and a property, `results` are its distinct values instead.',
        answers: [200, listOf(name, asParseShows(stored))],
        parameters: filters.map(([filter]) => shared(filter)),
      }),
      ...(!readOnly && {
        post: operationObject({
          operationId: id('create'),
          summary: `Add ${one}`,
          description: 'Every fault of it is named in one answer.',
          takes: create,
          answers: [201, Created],
        }),
      }),
    },
    [`/1/classes/${path}/{objectId}`]: {
      parameters: [shared('objectId')],
      get: operationObject({
        operationId: id('get'),
        summary: `Get ${one}`,
        description: 'What the caller may not read is answered like what does not exist.',
        answers: [200, asParseShows(stored)],
      }),
      ...(!readOnly && {
        put: operationObject({
          operationId: id('update'),
          summary: `Update ${one}`,
          description: 'What is left out stays as it is; `{"__op": "Delete"}` removes a property.',
          takes: update,
          answers: [200, Updated],
        }),
        delete: operationObject({
          operationId: id('delete'),
          summary: `Delete ${one}`,
          description: 'With what belongs to it; the path family can restore it.',
          answers: [200, Removed],
        }),
      }),
    },
  }
}
