import assert from 'node:assert/strict'
import { BSON, Code, Decimal128, type Document, Long, MaxKey, MinKey, MongoServerError } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

/** Documents and a pipeline, and its result or the code of its error. */
type Row = [documents: Document[], pipeline: Document[], result: Document[] | number]

const decimal = Decimal128.fromString
const text = (value: unknown) => BSON.EJSON.stringify(value, { relaxed: false })
const sum = { $group: { _id: null, n: { $sum: '$v' } } }
const average = { $group: { _id: null, n: { $avg: '$v' } } }
const joined = (v: unknown, other: unknown[]): Document[] => [
  { $limit: 1 },
  { $lookup: { from: 'others', localField: 'v', foreignField: 'w', as: 'j' } },
  { $project: { _id: 0, v: { $literal: v }, j: '$j._id', of: { $literal: other } } },
]

const group: Row[] = [
  [
    [{ v: Long.MAX_VALUE }, { v: Long.ONE }, { v: decimal('0') }],
    [sum],
    [{ _id: null, n: decimal('9223372036854775808') }],
  ],
  [[{ v: 2.5 }, { v: decimal('3.5') }], [sum], [{ _id: null, n: decimal('6.0') }]],
  [[{ v: 10.5 }, { v: decimal('19.5') }], [average], [{ _id: null, n: decimal('15.0') }]],
  [
    [{ v: decimal('9E6144') }, { v: decimal('9E6144') }, { v: decimal('-9E6144') }],
    [sum],
    [{ _id: null, n: decimal('Infinity') }],
  ],
  [[{ v: decimal('-0') }], [sum], [{ _id: null, n: decimal('0') }]],
  [[{ v: Number.POSITIVE_INFINITY }, { v: decimal('1') }], [sum], [{ _id: null, n: decimal('Infinity') }]],
  [[{}], [{ $group: { _id: null, $n: { $sum: 1 } } }], 40236],
  [[{}], [{ $group: { _id: null, 'a.b': { $sum: 1 } } }], 40235],
  [
    [{ v: new MinKey() }],
    [{ $group: { _id: '$v', n: { $push: '$v' } } }],
    [{ _id: { '': new MinKey() }, n: [new MinKey()] }],
  ],
  [
    [{ v: new MaxKey() }],
    [{ $group: { _id: null, n: { $last: '$v' } } }],
    [{ _id: null, n: { '': new MaxKey() } }],
  ],
  [[{ v: new Code('x') }], [{ $group: { _id: '$v' } }], [{ _id: 'x' }]],
  [
    [{ v: new MinKey() }],
    [{ $group: { _id: new MinKey(), n: { $min: '$v' } } }],
    [{ _id: new MinKey(), n: new MinKey() }],
  ],
  [[{}], [{ $group: { _id: null, n: { $min: new MinKey() } } }], [{ _id: null, n: { '': new MinKey() } }]],
  [[{}], [{ $group: { _id: null, n: { $sum: 1, x: 1 } } }], 40238],
  [[{}], [{ $group: { _id: null, n: {} } }], 40234],
  [[{}], [{ $group: { _id: null, n: { $sum: [1] } } }], 40237],
  [[{}], [{ $group: { _id: { a: 1 } } }], 17390],
  [[{}], [{ $group: { _id: null, n: { $count: 'x' } } }], 14],
]
const facet: Row[] = [
  [[{}], [{ $facet: { '': [] } }], 15998],
  [[{}], [{ $facet: { a: [{ $documents: [] }] } }], 40600],
  [[{}], [{ $facet: { a: [{ $unionWith: { coll: 'x', pipeline: [{ $facet: { a: [] } }] } }] } }], 40600],
]
const otherRows: Row[] = [
  [[{}], [{ $match: 1 as never }], 15959],
  [[{}], [{ $sort: {} }], 15976],
  [[{}], [{ $sort: { 'a.': 1 } }], 40353],
  [[{}], [{ $sort: { a: 1, $b: 1 } }], 16410],
  [[{}], [{ $unset: ['a', 'a'] }], 31250],
  [[{}], [{ $skip: decimal('1.000000000000000000000000000000001') }], 5107200],
  [[{ v: 1 }], [{ $limit: Long.MAX_VALUE }, { $unset: '_id' }], [{ v: 1 }]],
  [[{}, {}, {}], [{ $sample: { size: decimal('1.5') } }, { $count: 'n' }], [{ n: 2 }]],
  [[{}], [{ $set: { a: { 'b.c': 1 } } }], 40183],
  [[{}], [{ $project: { a: 0, b: '$c' } }], 31310],
  [[{ s: 'x'.repeat(9_000_000) }], [{ $project: { _id: 0, s: { $concat: ['$s'] }, t: '$s' } }], 10334],
]
const lookup: Row[] = [
  [[{}], [{ $lookup: { from: '', as: 'j', pipeline: [] } }], 73],
  [[{}], [{ $lookup: { from: 'x', as: 1, pipeline: [] } }], 14],
  [[{}], [{ $lookup: { from: 'x', as: 'j', localField: 'a', foreignField: 'b', let: { x: 1 } } }], 9],
  [[{}], [{ $lookup: { from: 'x', as: 'j', pipeline: [{ $documents: [] }] } }], 9],
  [
    [{ v: 2 }],
    [
      {
        $lookup: {
          as: 'j',
          localField: 'v',
          foreignField: 'w',
          pipeline: [{ $documents: [{ w: 1 }, { w: 2 }] }],
        },
      },
      { $project: { _id: 0, j: 1 } },
    ],
    [{ j: [{ w: 2 }] }],
  ],
]
/** [a value, the documents that it is joined with, the `_id`s of the matches] */
const joins: [unknown, Document[], number[]][] = [
  [[], [{ _id: 1, w: null }, { _id: 2 }, { _id: 3, w: 1 }], [1, 2]],
  [
    [['a']],
    [
      { _id: 1, w: ['a'] },
      { _id: 2, w: 'a' },
    ],
    [1],
  ],
  [
    ['a', 'b'],
    [
      { _id: 1, w: ['b', 'c'] },
      { _id: 2, w: 'x' },
      { _id: 3, w: ['a'] },
    ],
    [1, 3],
  ],
  [
    new Code('x'),
    [
      { _id: 1, w: new Code('x', {}) },
      { _id: 2, w: new Code('x') },
    ],
    [2],
  ],
]

describe('stages', () => {
  const engine = engineOfBlock()
  beforeEach(() => engine.db.dropDatabase())

  for (const [subject, rows] of Object.entries({ group, facet, others: otherRows, lookup }))
    for (const [documents, pipeline, result] of rows)
      it(`run ${text(pipeline)} on ${text(documents).slice(0, 200)} (${subject})`, async () => {
        const things = engine.db.collection('things')
        await things.insertMany(documents.map((document) => ({ ...document })))
        const answer = await things
          .aggregate(pipeline, { promoteValues: false })
          .toArray()
          .catch((error: unknown) => error)
        if (answer instanceof MongoServerError) assert.equal(Number(answer.code), result, answer.message)
        else assert.equal(text(answer), text(result))
      })

  for (const indexed of [false, true])
    for (const [v, documents, expected] of joins)
      it(`join ${text(v)} with ${text(documents)}${indexed ? ', by an index' : ''}`, async () => {
        await engine.db.collection('things').insertOne({ v })
        await engine.db.collection('others').insertMany(documents)
        if (indexed) await engine.db.collection('others').createIndex({ w: 1 })
        const [result] = await engine.db.collection('things').aggregate(joined(v, documents)).toArray()
        assert.deepEqual(indexed ? [...(result?.j ?? [])].sort() : result?.j, expected)
      })

  it('refuses a pipeline nested in 21 others', async () => {
    const nested = (depth: number): Document[] =>
      depth === 0 ? [] : [{ $lookup: { from: 'x', as: 'j', pipeline: nested(depth - 1) } }]
    await engine.db.collection('things').aggregate(nested(20)).toArray()
    await assert.rejects(engine.db.collection('things').aggregate(nested(21)).toArray(), { code: 232 })
  })
})
