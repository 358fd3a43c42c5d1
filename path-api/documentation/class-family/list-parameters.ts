import type { TObject, TProperties } from '@sinclair/typebox'
import type { Json } from '../schema-collector.ts'

/** Parameters of Parse's REST interface. The class-family middleware validates them. */

const createQueryParameter = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'query',
  description,
  schema,
})

const MAX_NUMBER = 2 ** 31 - 1

const PAGE_PARAMETERS = [
  createQueryParameter('limit', 'Maximum number of objects: 100 by default, never more than 1000', {
    type: 'integer',
    minimum: 0,
    maximum: MAX_NUMBER,
    examples: [100],
  }),
  createQueryParameter('skip', 'Number of objects to skip', {
    type: 'integer',
    minimum: 0,
    maximum: MAX_NUMBER,
    examples: [0],
  }),
  createQueryParameter('count', 'Flag: 1 to include the number of matching objects', {
    type: 'integer',
    enum: [0, 1],
    examples: [1],
  }),
]

/** Names of the fields that a query can name, as alternatives of a pattern. */
function fieldPattern({ properties }: TObject): string {
  const names = Object.entries(properties as TProperties).map(([name, { type, properties: members }]) => {
    const isDate = members?.__type !== undefined
    const hasParts = !isDate && ['object', 'array', undefined].includes(type)
    return hasParts ? `${name}${PART_PATTERN}` : name
  })
  return names.join('|')
}

const PART_PATTERN = '(\\.[^.$,]+)*'
const ANY_FIELD_PATTERN = `[A-Za-z][A-Za-z0-9_]*${PART_PATTERN}`

const createListSchema = (pattern: string, example: string, most = 100): Json => ({
  type: 'string',
  maxLength: 10_000,
  examples: [example],
  pattern: `^((${pattern})(,|$)){1,${most}}$`,
})

/** @param schema the stored form of the class; undefined: any class of the open test environment */
export function describeObjectParameters(schema: TObject | undefined): Json[] {
  const pattern = schema ? `ACL|${fieldPattern(schema)}` : ANY_FIELD_PATTERN
  const example = 'createdAt'
  return [
    createQueryParameter(
      'keys',
      'Properties to return besides the system ones, separated by commas',
      createListSchema(pattern, example),
    ),
    createQueryParameter(
      'excludeKeys',
      'Properties to leave out, separated by commas',
      createListSchema(pattern, example),
    ),
    createQueryParameter(
      'include',
      'Pointers to follow, or `*`. The classes of this service refer to others by ids, so there is nothing to include',
      createListSchema(`\\*|${pattern}`, '*'),
    ),
  ]
}

export function describeListParameters(schema: TObject | undefined): Json[] {
  const pattern = schema ? fieldPattern(schema) : ANY_FIELD_PATTERN
  return [
    createQueryParameter('where', 'Filter, as a JSON object of conditions by property', {
      type: 'string',
      minLength: 2,
      contentMediaType: 'application/json',
      contentSchema: describeCondition(pattern),
      examples: ['{"createdAt":{"$gt":{"__type":"Date","iso":"2026-03-01T00:00:00.000Z"}}}'],
    }),
    createQueryParameter(
      'order',
      'Properties to sort by, separated by commas; `-` before one sorts descending',
      createListSchema(`-?(${pattern})`, '-createdAt', 32),
    ),
    ...PAGE_PARAMETERS,
    createQueryParameter(
      'distinct',
      'Property whose distinct values `results` contains, in place of objects',
      {
        type: 'string',
        pattern: `^(${pattern})$`,
        examples: ['createdAt'],
      },
    ),
    createQueryParameter('includeAll', 'The same as `include=*`', { type: 'boolean', examples: [true] }),
    ...describeObjectParameters(schema),
  ]
}

const describeCondition = (pattern: string): Json => {
  const conditions = { type: 'array', minItems: 1, maxItems: 100, items: { type: 'object' } }
  return {
    type: 'object',
    properties: { $or: conditions, $and: conditions, $nor: conditions },
    patternProperties: { [`^(${pattern})$`]: { anyOf: [PLAIN_VALUE, OPERATORS] } },
    additionalProperties: false,
  }
}

const PLAIN_VALUE = {
  anyOf: [
    { type: 'string', maxLength: 10_000 },
    { type: ['number', 'boolean', 'null', 'array'], items: {} },
    { type: 'object', propertyNames: { pattern: '^[^$]' } },
  ],
}
const COMPARABLE = { type: ['string', 'number', 'boolean', 'object'] }
const LIST = { type: 'array', maxItems: 1000, items: {} }
const SUBQUERY = {
  type: 'object',
  properties: {
    className: { type: 'string' },
    where: { type: 'object' },
    order: { type: 'string' },
    limit: { type: 'integer', minimum: 0, maximum: MAX_NUMBER },
    skip: { type: 'integer', minimum: 0, maximum: MAX_NUMBER },
  },
  required: ['className'],
  additionalProperties: false,
}
const SELECTION = {
  type: 'object',
  properties: { key: { type: 'string' }, query: SUBQUERY },
  required: ['key', 'query'],
  additionalProperties: false,
}
const OPERATORS = {
  type: 'object',
  minProperties: 1,
  properties: {
    $eq: true,
    $ne: true,
    $exists: { type: 'boolean' },
    $lt: COMPARABLE,
    $lte: COMPARABLE,
    $gt: COMPARABLE,
    $gte: COMPARABLE,
    $in: LIST,
    $nin: LIST,
    $all: LIST,
    $containedBy: LIST,
    $regex: {
      type: 'string',
      maxLength: 200,
      description:
        'Regular expression. Use `*` and `+` at its end, once before that, or twice after `^`. In objects without a schema, use them at the end or after `^`. Elsewhere use bounds such as `{0,50}`.',
    },
    $options: { type: 'string', pattern: '^[imsx]{0,4}$' },
    $inQuery: SUBQUERY,
    $notInQuery: SUBQUERY,
    $select: SELECTION,
    $dontSelect: SELECTION,
  },
  additionalProperties: false,
}
