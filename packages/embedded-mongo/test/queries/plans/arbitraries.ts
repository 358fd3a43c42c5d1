import fc from 'fast-check'
import {
  Binary,
  Decimal128,
  type Document,
  Double,
  type Filter,
  type IndexDescription,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
} from 'mongodb'

/** The indexes of which the planner chooses; all kinds that the engine supports. */
export const indexes: (IndexDescription & { name: string })[] = [
  { name: 'u', key: { u: 1 }, unique: true, sparse: true },
  { name: 'a', key: { a: 1, _id: 1 } },
  { name: 'b_d', key: { b: 1, d: -1, _id: 1 } },
  { name: 'c', key: { c: 1, _id: 1 } },
  { name: 'c_b', key: { c: -1, b: 1 } },
  { name: 'i', key: { i: -1 } },
  { name: 'n', key: { n: 1 } },
  { name: 'n.x_n.y', key: { 'n.x': 1, 'n.y': -1 } },
  { name: 'e.f_e.g', key: { 'e.f': 1, 'e.g': -1 } },
  { name: 't', key: { t: 1 }, sparse: true },
  { name: 'd_partial', key: { d: 1 }, partialFilterExpression: { b: { $gt: 1 } } },
  { name: 's_any_case', key: { s: 1 }, collation: { locale: 'en', strength: 2 } },
]

const sometimes = <T>(weight: number, value: fc.Arbitrary<T>) => ({ weight, arbitrary: value })
const prefix = 'p'.repeat(2100)

const number = fc.oneof(
  sometimes(6, fc.integer({ min: -2, max: 5 })),
  sometimes(
    1,
    fc.constantFrom(1.5, 2.5, -0.5, 2 ** 53, 1e300).map((n) => new Double(n)),
  ),
  sometimes(
    1,
    fc.integer({ min: -1, max: 3 }).map((n) => new Double(n)),
  ),
  sometimes(
    1,
    fc.constantFrom(new Double(Number.NaN), new Double(Infinity), new Double(-Infinity), new Double(-0)),
  ),
  sometimes(1, fc.constantFrom('2', '9007199254740993', '-1').map(Long.fromString)),
  sometimes(1, fc.constantFrom('2', '2.50', '0.1', '1E+400', 'NaN', '-Infinity').map(Decimal128.fromString)),
)
const date = fc.integer({ min: -2, max: 9 }).map((day) => new Date(Date.UTC(2024, 0, 1 + day)))
const text = fc.oneof(
  sometimes(
    8,
    fc.constantFrom('', 'a', 'A', 'ab', 'Ab', 'abc', 'b', 'B', 'é', 'a\u0000b', 'ß', '^a', '10', '9'),
  ),
  sometimes(
    1,
    fc.constantFrom('', 'a', 'b', 'B').map((end) => prefix + end),
  ),
)
const rare = fc.constantFrom<unknown>(
  ObjectId.createFromTime(1),
  ObjectId.createFromTime(2),
  new Binary(Buffer.from([1, 2])),
  new Binary(Buffer.from([1, 2]), 4),
  new MinKey(),
  new MaxKey(),
)
const scalar = fc.oneof(
  sometimes(5, number),
  sometimes(4, text),
  sometimes(2, date),
  sometimes(2, fc.constant(null)),
  sometimes(1, fc.boolean()),
  sometimes(1, rare),
)
const shallow = fc.record({ x: scalar, y: scalar }, { requiredKeys: [] })
const list = (item: fc.Arbitrary<unknown>) => fc.array(item, { maxLength: 3 })
const value = fc.oneof(
  sometimes(6, scalar),
  sometimes(2, list(scalar)),
  sometimes(1, shallow),
  sometimes(1, list(fc.oneof(scalar, shallow, list(scalar)))),
)

/**
 * Values for each field. `c` is an array if present, `n` an object, `i` a number, so that updates may rely on
 * it.
 */
const field = {
  a: value,
  b: scalar,
  c: list(fc.oneof(scalar, scalar, list(scalar))),
  d: date,
  e: list(fc.record({ f: scalar, g: number }, { requiredKeys: [] })),
  i: number,
  n: shallow,
  s: text,
  t: value,
  u: fc.oneof(number, text),
}
export const documents = fc.array(fc.record(field, { requiredKeys: [] }), { minLength: 20, maxLength: 60 })

const fields = Object.keys(field) as (keyof typeof field)[]
const paths: Record<string, fc.Arbitrary<unknown>> = {
  ...field,
  c: fc.oneof(scalar, field.c),
  t: scalar,
  'n.x': scalar,
  'n.y': scalar,
  'e.f': scalar,
  'e.g': number,
  'e.0.f': scalar,
  'c.0': scalar,
  'a.x': scalar,
  _id: fc.integer({ min: 0, max: 60 }),
}
const path = fc.constantFrom(...Object.keys(paths))
const pattern = fc.constantFrom(/^a/, /^A/i, /^p{3}/, /b/, /^$/, /^(a|b)/, /^ab?/, /^\^a/)

const operators = (of: fc.Arbitrary<unknown>): fc.Arbitrary<Document> =>
  fc.oneof(
    of.map(($eq) => ({ $eq })),
    fc.tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte', '$ne'), of).map(([op, v]) => ({ [op]: v })),
    fc.record({ $gte: of, $lt: of }),
    fc.record({ $gt: of, $lte: of }),
    fc.tuple(fc.constantFrom('$in', '$nin', '$all'), list(of)).map(([op, v]) => ({ [op]: v })),
    fc.tuple(of, pattern).map(([v, regex]) => ({ $in: [v, regex] })),
    fc.boolean().map(($exists) => ({ $exists })),
    pattern.map(($regex) => ({ $regex })),
    fc
      .constantFrom('number', 'string', 'array', 'null', 'object', 9, ['date', 'bool'])
      .map(($type) => ({ $type })),
    fc.nat(3).map(($size) => ({ $size })),
    of.map((v) => ({ $elemMatch: { $gte: v } })),
    of.map((v) => ({ $elemMatch: { x: v } })),
    fc.record({ $mod: fc.tuple(fc.integer({ min: 2, max: 3 }), fc.constantFrom(0, 1)) }),
  )

const condition = (name: string): fc.Arbitrary<Document> => {
  const valueOfPath = paths[name] ?? value
  const plain = fc.oneof(sometimes(3, valueOfPath), sometimes(1, fc.constant(null)), sometimes(1, value))
  return fc.oneof(
    sometimes(
      2,
      plain.map((v) => ({ [name]: v })),
    ),
    sometimes(
      5,
      operators(plain).map((v) => ({ [name]: v })),
    ),
    sometimes(
      1,
      operators(plain).map((v) => ({ [name]: { $not: v } })),
    ),
  )
}
const conditions = path.chain(condition)
const conjunction = fc.array(conditions, { minLength: 1, maxLength: 3 })

/** Conditions on the fields of one element of an array. */
const element = fc.record(
  { f: fc.oneof(scalar, operators(scalar)), g: operators(number) },
  { requiredKeys: [] },
)

const filter: fc.Arbitrary<Filter<Document>> = fc.oneof(
  sometimes(
    1,
    fc.tuple(conditions, element).map(([one, $elemMatch]) => ({ ...one, e: { $elemMatch } })),
  ),
  sometimes(5, conditions),
  sometimes(
    4,
    conjunction.map((conditions) => Object.assign({}, ...conditions)),
  ),
  sometimes(
    2,
    fc.tuple(fc.constantFrom('$and', '$or', '$nor'), conjunction).map(([op, of]) => ({ [op]: of })),
  ),
  sometimes(
    1,
    fc.tuple(conditions, conjunction).map(([one, $or]) => ({ ...one, $or })),
  ),
  sometimes(
    1,
    fc.tuple(conditions, fc.integer({ min: 1, max: 4 })).map(([one, $gt]) => ({ ...one, b: { $gt } })),
  ),
  sometimes(1, fc.constant({})),
)

const direction = fc.constantFrom<1 | -1>(1, -1)
const directions = (name: fc.Arbitrary<string>) =>
  fc.array(fc.tuple(name, direction), { minLength: 1, maxLength: 2 }).map((by) => Object.fromEntries(by))
/**
 * A total order that ends with `_id`, or an order by fields without arrays, in which equal documents may
 * change places.
 */
const order: fc.Arbitrary<Record<string, 1 | -1>> = fc.oneof(
  fc.tuple(directions(path), direction).map(([by, _id]) => ({ ...by, _id: by._id ?? _id })),
  fc.constantFrom<Record<string, 1 | -1>>(
    { b: 1, d: -1, _id: 1 },
    { b: -1, d: 1, _id: -1 },
    { c: -1, _id: -1 },
  ),
  directions(fc.constantFrom('b', 'd', 'i', 's', 'u', 'n.x', 'n.y')),
  fc.constantFrom<Record<string, 1 | -1>>(
    { b: 1, d: -1 },
    { b: -1, d: 1 },
    { 'n.x': 1, 'n.y': -1 },
    { 'n.x': -1, 'n.y': 1 },
  ),
)
const projection = fc.constantFrom<Document | undefined>(
  undefined,
  { a: 1, 'n.x': 1 },
  { b: 1, d: 1, _id: 0 },
  { c: 0, e: 0 },
  { 'e.f': 1 },
  { c: { $slice: 1 } },
)

/**
 * A read: `find`, or another command with a filter. Skip and limit need a total order, otherwise any result
 * would be right.
 */
export interface Query {
  kind: 'find' | 'count' | 'distinct' | 'sorted' | 'grouped'
  filter: Filter<Document>
  path: string
  sort?: Record<string, 1 | -1>
  skip: number
  limit: number
  projection?: Document
  collation?: { locale: string; strength: number }
}
/**
 * Conditions on an index's fields with its order or the reverse, so that the planner uses bounds and sorted
 * plans.
 */
const suited = fc.constantFrom(...indexes).chain((index) => {
  const key = index.key as Record<string, 1 | -1>
  const names = Object.keys(key).filter((name) => name !== '_id')
  const turned = Object.fromEntries(Object.entries(key).map(([name, way]) => [name, -way]))
  return fc.record({
    filter: fc
      .tuple(...names.map(condition))
      .map((conditions) => Object.assign({}, ...conditions) as Filter<Document>),
    sort: fc
      .constantFrom(undefined, key, turned)
      .map((by) => (by && names.some(isArray) ? { ...by, _id: by._id ?? 1 } : by)),
    own: fc.constantFrom(undefined, { ...key, _id: '_id' in key ? 1 : 0 }),
  })
})
const isArray = (name: string) => ['a', 'c', 'e.f', 't', 'n'].includes(name)
const any = fc.record({
  filter,
  sort: fc.option(order, { nil: undefined }),
  own: fc.constant<Document | undefined>(undefined),
})

export const query: fc.Arbitrary<Query> = fc
  .record({
    kind: fc.constantFrom('find', 'find', 'find', 'find', 'count', 'distinct', 'sorted', 'grouped'),
    query: fc.oneof(sometimes(2, any), sometimes(1, suited)),
    path,
    skip: fc.constantFrom(0, 0, 0, 2),
    limit: fc.constantFrom(0, 0, 1, 5),
    projection,
    collation: fc.constantFrom(undefined, undefined, undefined, { locale: 'en', strength: 2 }),
  })
  .map(({ query, projection, collation, ...rest }) => ({
    ...rest,
    filter: query.filter,
    ...(query.sort && { sort: query.sort }),
    ...((query.own ?? projection) && { projection: query.own ?? projection }),
    ...(collation && { collation }),
  })) as fc.Arbitrary<Query>

/** A write that changes the same documents under every plan. */
export type Write =
  | { kind: 'updateMany'; filter: Filter<Document>; update: Document }
  | { kind: 'replaceFirst'; filter: Filter<Document>; document: Document }
  | { kind: 'deleteMany'; filter: Filter<Document> }
  | { kind: 'setUnique'; id: number; u: unknown }

const update: fc.Arbitrary<Document> = fc.oneof(
  fc
    .constantFrom(...fields.filter((name) => name !== 'u'))
    .chain((name) => field[name].map((v) => ({ $set: { [name]: v } }))),
  fc
    .constantFrom('a', 'b', 'c', 'd', 'e', 'n', 's', 't', 'n.x', 'e.0')
    .map((name) => ({ $unset: { [name]: '' } })),
  scalar.map((v) => ({ $set: { 'n.x': v } })),
  scalar.map((v) => ({ $push: { c: v } })),
  scalar.map((v) => ({ $pull: { c: v } })),
  scalar.map((v) => ({ $addToSet: { c: v } })),
  fc.constant({ $pop: { c: 1 } }),
  fc.constantFrom(1, -2, Long.fromNumber(2)).map((i) => ({ $inc: { i } })),
  scalar.map((b) => ({ $max: { b } })),
  scalar.map((b) => ({ $min: { b } })),
)
export const write: fc.Arbitrary<Write> = fc.oneof(
  sometimes(5, fc.record({ kind: fc.constant('updateMany' as const), filter, update })),
  sometimes(2, fc.record({ kind: fc.constant('setUnique' as const), id: fc.nat(40), u: field.u })),
  sometimes(
    2,
    fc.record({
      kind: fc.constant('replaceFirst' as const),
      filter,
      document: fc.record({ a: field.a, b: field.b, c: field.c, t: field.t }, { requiredKeys: [] }),
    }),
  ),
  sometimes(1, fc.record({ kind: fc.constant('deleteMany' as const), filter })),
)
