import assert from 'node:assert/strict'
import fc from 'fast-check'
import { BSON, type Collection, type Document, Double } from 'mongodb'
import { engineOfBlock } from '../../../testing.ts'

const { EJSON } = BSON
const seed = Number(process.env.SEED ?? 20240229)
const runs = process.env.TEST_SIZE ? 200 : 6
const pipelinesPerRound = 30
const exact = { promoteValues: false } as const

const indexes = [
  { name: 'k_v_o', key: { 'e.k': 1, 'e.v': 1, 'e.i': 1, o: 1 } },
  { name: 'o_k_v', key: { o: 1, 'e.k': 1, 'e.v': -1 } },
  { name: 'o_n', key: { o: 1, n: 1 } },
] as const

const number = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -2, max: 4 }) },
  { weight: 2, arbitrary: fc.constantFrom(0.1, 0.2, 1.5, 1e300, -0.5) },
)
/** Values that no key gives back, or that make several keys. */
const odd = fc.constantFrom<unknown>(null, 'text', [1, 2], new Double(2), Number.NaN, { x: 1 })
const kind = fc.constantFrom('a', 'b')
const owner = fc.constantFrom<unknown>('x', 'y', 'z', null)

/** Elements that differ from each other, as an index with one key for each element needs them. */
const even = fc.uniqueArray(fc.record({ k: kind, v: number }), {
  maxLength: 4,
  selector: ({ k, v }) => `${k} ${v}`,
})
const uneven = fc.oneof(
  fc.array(fc.record({ k: kind, v: fc.oneof(number, odd) }, { requiredKeys: [] }), { maxLength: 3 }),
  fc.record({ k: kind, v: number }),
  fc.constantFrom<unknown>(null, 'text', ['text'], [[{ k: 'a', v: 1 }]], undefined),
)

/** In half of the collections all arrays suit the keys; in the others some do not. */
const documents = fc.boolean().chain((isEven) =>
  fc.array(
    fc.record(
      {
        e: isEven ? even : fc.oneof({ weight: 3, arbitrary: even }, { weight: 1, arbitrary: uneven }),
        o: owner,
        n: number,
      },
      { requiredKeys: ['e'] },
    ),
    { minLength: 5, maxLength: 30 },
  ),
)

const range = fc.oneof(
  fc.constant(undefined),
  number.map(($gte) => ({ $gte })),
  number.map(($lt) => ({ $lt })),
  fc.tuple(number, number).map(([a, b]) => ({ $gt: Math.min(a, b), $lte: Math.max(a, b) })),
  number,
  fc.array(number, { maxLength: 3 }).map(($in) => ({ $in })),
)

const accumulator = fc.constantFrom<Document>(
  { $sum: 1 },
  { $count: {} },
  { $sum: '$e.v' },
  { $avg: '$e.v' },
  { $min: '$e.v' },
  { $max: '$e.v' },
  { $push: '$e.v' },
)

const following = fc.oneof(
  fc.constantFrom(1, -1).map((way): Document[] => [{ $sort: { 'e.v': way } }]),
  fc
    .constantFrom(1, -1)
    .chain((way) =>
      fc
        .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 4 }))
        .map(([skip, most]): Document[] => [
          { $sort: { 'e.v': way } },
          ...(skip > 0 ? [{ $skip: skip }] : []),
          { $limit: most },
        ]),
    ),
  fc
    .tuple(fc.constantFrom('$o', null, '$e.k', '$n'), accumulator, accumulator)
    .map(([_id, first, second]): Document[] => [{ $group: { _id, first, second } }]),
  fc.constant<Document[]>([]),
)

const drop = (names: readonly string[]): Document => ({
  $project: Object.fromEntries(names.map((name) => [name, 0])),
})

/** Projections that drop fields; another stage before or after them reads some of these. */
const dropping = fc
  .uniqueArray(fc.constantFrom('o', 'n', '_id', 'e', 'e.v'), { minLength: 1, maxLength: 3 })
  .filter((names) => !(names.includes('e') && names.includes('e.v')))
  .chain((names) =>
    fc.constantFrom<Document[]>(
      [drop(names)],
      [{ $addFields: { copied: '$n' } }, drop(names)],
      [drop(names), { $addFields: { copied: '$o' } }],
    ),
  )

const pipelines = fc
  .record({
    k: kind,
    v: range,
    head: fc.constantFrom('same', 'none', 'other', 'wide'),
    o: fc.oneof(fc.constant(undefined), owner, fc.constant({ $in: ['x', 'y'] })),
    n: fc.option(
      fc.integer({ min: -1, max: 2 }).map(($gt) => ({ $gt })),
      { nil: undefined, freq: 4 },
    ),
    following,
    dropping: fc.option(dropping, { nil: [] }),
  })
  .map(({ k, v, head, o, n, following: rest, dropping: last }) => {
    const element = { k, ...(v !== undefined && { v }) }
    const condition = { same: element, none: undefined, other: { k: 'b' }, wide: { k } }[head]
    const filter = {
      ...(condition && { e: { $elemMatch: condition } }),
      ...(o !== undefined && { o }),
      ...(n !== undefined && { n }),
    }
    const elementFilter = { 'e.k': k, ...(v !== undefined && { 'e.v': v }) }
    return [{ $match: filter }, { $unwind: '$e' }, { $match: elementFilter }, ...rest, ...last] as Document[]
  })

/** Groups without an array before them. */
const plain = fc
  .tuple(fc.constantFrom({ o: 'x' }, { o: { $in: ['x', 'y'] } }, {}), fc.constantFrom('$o', null))
  .map(([filter, _id]): Document[] => [
    { $match: filter },
    { $group: { _id, n: { $sum: 1 }, sum: { $sum: '$n' }, least: { $min: '$n' } } },
  ])

const text = (value: unknown) => EJSON.stringify(value, { relaxed: false })

/** Groups, and elements with equal values, come in any order; a sum of doubles may differ in its last bit. */
const comparable = (results: Document[]): string[] => results.map((one) => text(rounded(one))).sort()

function rounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rounded).map(text).sort()
  if (value instanceof Double) return Number(value.value.toPrecision(12))
  if (typeof value !== 'object' || value === null || '_bsontype' in value) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, rounded(inner)]))
}

describe(`elements of arrays by their keys (SEED=${seed})`, () => {
  const engine = engineOfBlock()

  it(`are sorted and grouped as by reading each document, in ${runs * pipelinesPerRound} pipelines`, async function () {
    this.timeout(240_000)
    let run = 0
    const requests = fc.array(
      fc.oneof({ weight: 6, arbitrary: pipelines }, { weight: 1, arbitrary: plain }),
      {
        minLength: pipelinesPerRound,
        maxLength: pipelinesPerRound,
      },
    )
    const property = fc.asyncProperty(documents, requests, async (docs, pipelines) => {
      const indexed = engine.db.collection(`run${++run}_indexed`)
      const bare = engine.db.collection(`run${run}_bare`)
      await indexed.createIndexes(indexes.map((index) => ({ ...index })))
      for (const [_id, document] of docs.entries())
        await Promise.all([indexed, bare].map((one) => one.insertOne({ _id, ...document } as Document)))
      await indexed.deleteOne({ _id: 0 } as Document)
      await bare.deleteOne({ _id: 0 } as Document)
      for (const pipeline of pipelines) await compare(indexed, bare, pipeline)
      await Promise.all([indexed.drop(), bare.drop()])
    })
    const outcome = await fc.check(property, { seed, numRuns: runs, endOnFailure: true })
    if (outcome.failed) throw outcome.errorInstance
  })
})

async function compare(indexed: Collection, bare: Collection, pipeline: Document[]): Promise<void> {
  const [answer, expected] = await Promise.all(
    [indexed, bare].map((one) => one.aggregate(pipeline, exact).toArray()),
  )
  const way: unknown = pipeline.find((stage) => '$sort' in stage)?.$sort['e.v']
  // Equal keys may come in any order: an array sorts by its least or greatest value, and a missing value as null.
  const key = (value: unknown) => (Array.isArray(value) ? value.at(way === 1 ? 0 : -1) : (value ?? null))
  const keys = (elements: Document[] = []) => elements.map(({ e }) => text(rounded(key(e?.v))))
  if (way !== undefined) assert.deepEqual(keys(answer), keys(expected), `SEED=${seed} ${text(pipeline)}`)
  const unlimited = pipeline.filter((stage) => !('$skip' in stage || '$limit' in stage))
  const plainAnswer = await bare.aggregate(unlimited, exact).toArray()
  const rows = comparable(answer ?? [])
  const possible = comparable(plainAnswer)
  const message = `SEED=${seed} ${text(pipeline)}`
  if (unlimited.length === pipeline.length) assert.deepEqual(rows, possible, message)
  // Of equal keys, other documents may be on the page.
  else for (const row of rows) assert.ok(possible.includes(row), message)
}
