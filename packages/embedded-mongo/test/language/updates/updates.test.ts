import assert from 'node:assert/strict'
import { BSON, type Collection, Decimal128, type Document, Double, Long, MongoServerError } from 'mongodb'
import { engineOfBlock } from '../../../testing.ts'

/**
 * The results of MongoDB's updates, written by hand from its manual: [before, update, after, options].
 * `after` is the document, or the code of the error. Numbers are Int32 unless another type is given.
 */
type Row = [before: Document, update: Document | Document[], after: Document | number, options?: Options]
interface Options {
  filter?: Document
  arrayFilters?: Document[]
}

const text = (value: unknown) => BSON.EJSON.stringify(value, { relaxed: false })
const double = (n: number) => new Double(n)
const long = (n: number | string) => Long.fromString(String(n))
const decimal = Decimal128.fromString

const arithmetic: Row[] = [
  [{ n: 1 }, { $inc: { n: 1 } }, { n: 2 }],
  [{ n: double(1) }, { $inc: { n: 1 } }, { n: double(2) }],
  [{ n: long(1) }, { $inc: { n: 1 } }, { n: long(2) }],
  [{ n: 2147483647 }, { $inc: { n: 1 } }, { n: long(2147483648) }],
  [{ n: decimal('1.10') }, { $inc: { n: 1 } }, { n: decimal('2.10') }],
  [{ n: long('9007199254740993') }, { $inc: { n: 1 } }, { n: long('9007199254740994') }],
  [{ n: Long.MAX_VALUE }, { $inc: { n: 1 } }, 2],
  [{}, { $inc: { n: double(5) } }, { n: double(5) }],
  [{}, { $mul: { n: 5 } }, { n: 0 }],
  [{ n: 'x' }, { $inc: { n: 1 } }, 14],
  [{ n: null }, { $inc: { n: 1 } }, 14],
  [{ n: 1 }, { $inc: { n: 'x' } }, 14],
  [{ n: 6 }, { $bit: { n: { and: 3 } } }, { n: 2 }],
  [{ n: 6 }, { $min: { n: 3 }, $max: { m: 1 } }, { n: 3, m: 1 }],
  [{ n: 6 }, { $max: { n: 'a' } }, { n: 'a' }],
  [{ n: 6 }, { $min: { n: null } }, { n: null }],
  [{}, { $currentDate: { n: 'soon' } }, 2],
  [{}, { $currentDate: { n: { $type: 'date', more: 1 } } }, 2],
  [{ n: 6 }, { $bit: { n: {} } }, 2],
  [{ n: 1 }, { $bit: { n: { or: long(2 ** 32) } } }, { n: long(2 ** 32 + 1) }],
  [{ n: Long.MAX_VALUE }, { $bit: { n: { xor: 1 } } }, { n: long('9223372036854775806') }],
  [{ n: Long.MAX_VALUE }, { $mul: { n: 2 } }, 2],
  [{ n: decimal('-9E6144') }, { $mul: { n: 10 } }, { n: decimal('-Infinity') }],
  [{ n: decimal('9E6144') }, { $inc: { n: decimal('9E6144') } }, { n: decimal('Infinity') }],
  [{ n: 0 }, { $mul: { n: decimal('-1') } }, { n: decimal('-0') }],
  // An update to an equal value keeps the stored form; $set replaces it.
  [{ n: decimal('-0') }, { $inc: { n: 0 } }, { n: decimal('-0') }],
  [{ n: decimal('0') }, { $set: { n: decimal('-0') } }, { n: decimal('-0') }],
  [{ n: double(0) }, { $set: { n: double(-0) } }, { n: double(-0) }],
]
const paths: Row[] = [
  [{}, { $set: { 'a.b.c': 1 } }, { a: { b: { c: 1 } } }],
  [{ a: [] }, { $set: { 'a.2': 1 } }, { a: [null, null, 1] }],
  [{ a: [{ b: 1 }] }, { $set: { 'a.0.b': 2, 'a.1.b': 3 } }, { a: [{ b: 2 }, { b: 3 }] }],
  [{ a: [1] }, { $set: { 'a.b': 1 } }, 28],
  [{ a: 1 }, { $set: { 'a.b': 1 } }, 28],
  [{ a: null }, { $set: { 'a.b': 1 } }, 28],
  [{}, { $set: { _id: 2 } }, 66],
  [{}, { $set: { _id: 1, a: 1 } }, { a: 1 }],
  [{}, { $set: { a: 1 }, $inc: { a: 1 } }, 40],
  [{}, { $set: { a: 1, 'a.b': 1 } }, 40],
  [{}, { $set: { '': 1 } }, 56],
  [{}, { $set: { 'a..b': 1 } }, 56],
  [{}, { $unknown: { a: 1 } }, 9],
  [{ z: 1 }, { $set: {} }, { z: 1 }],
  [{ a: [1, 2], b: { c: 1, d: 1 } }, { $unset: { 'a.0': 1, 'b.c': 1, x: 1 } }, { a: [null, 2], b: { d: 1 } }],
  [{ a: 1, b: 2 }, { $rename: { a: 'c.d' } }, { b: 2, c: { d: 1 } }],
  [{ a: 1, b: 2 }, { $rename: { a: 'b' } }, { b: 1 }],
  [{}, { $rename: { x: 'y' } }, {}],
  [{ a: 1 }, { $rename: { 'a.b': 'c' } }, 28],
  [{ a: 1 }, { $rename: { a: '_id' } }, 66],
  [{ a: 1 }, { $rename: { a: 'b\0' } }, 9867600],
  [{ a: 1 }, { $rename: { a: '$b' } }, 52],
  [{ a: 1 }, { $rename: { $a: 'b' } }, { a: 1 }],
  [{}, { $set: { $a: 1 } }, 52],
  [{}, { $set: { 'a.$b': 1 } }, { a: { $b: 1 } }],
]
/** New fields are added in the order of their names, on each level. Existing fields keep their places. */
const additions: Row[] = [
  [{}, { $set: { b: 1, a: 2 } }, { a: 2, b: 1 }],
  [{ m: 1 }, { $set: { z: 1, m: 2, B: 3, a: 4 } }, { m: 2, B: 3, a: 4, z: 1 }],
  [
    { o: 1 },
    {
      $push: { f: 1 },
      $inc: { e: 1 },
      $mul: { d: 1 },
      $min: { c: 1 },
      $max: { b: 1 },
      $bit: { a: { or: 1 } },
    },
    { o: 1, a: 1, b: 1, c: 1, d: 0, e: 1, f: [1] },
  ],
  [{ o: 1 }, { $rename: { o: 'b' }, $set: { c: 1 }, $addToSet: { a: 1 } }, { a: [1], b: 1, c: 1 }],
  [
    {},
    { $set: { 'b.d': 1, 'a.z': 1, 'b.c': 1, 'a.y.x': 1 } },
    { a: { y: { x: 1 }, z: 1 }, b: { c: 1, d: 1 } },
  ],
  [{}, { $set: { 'a.b': 1, 'a-b': 1, a_b: 1 } }, { a: { b: 1 }, 'a-b': 1, a_b: 1 }],
  [{}, { $set: { é: 1, z: 1, '😀': 1, '\uffee': 1 } }, { z: 1, é: 1, '\uffee': 1, '😀': 1 }],
  [
    { a: [] },
    { $set: { 'a.10': 10, 'a.2.c': 1, 'a.2.b': 1 } },
    { a: [null, null, { b: 1, c: 1 }, ...Array(7).fill(null), 10] },
  ],
  [
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { 'a.$.z': 1, 'a.1.y': 1, 'a.$.x': 1 } },
    { a: [{ k: 1 }, { k: 2, x: 1, y: 1, z: 1 }] },
    { filter: { 'a.k': 2 } },
  ],
  [
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { 'a.$[].z': 1, 'a.$[e].y': 1 } },
    {
      a: [
        { k: 1, z: 1 },
        { k: 2, y: 1, z: 1 },
      ],
    },
    { arrayFilters: [{ 'e.k': 2 }] },
  ],
  // Array filters are evaluated on the array before the update.
  [
    { a: [{ k: 1 }] },
    { $set: { 'a.$[d].k': 2, 'a.$[e].l': 1 } },
    { a: [{ k: 2 }] },
    { arrayFilters: [{ 'd.k': 1 }, { 'e.k': 2 }] },
  ],
  // A pipeline adds fields in its own order.
  [{}, [{ $set: { b: 1, a: 2 } }], { b: 1, a: 2 }],
]
const arrays: Row[] = [
  [{}, { $push: { a: 1 } }, { a: [1] }],
  [{ a: 1 }, { $push: { a: 1 } }, 2],
  [{ a: null }, { $push: { a: 1 } }, 2],
  [{ a: [3] }, { $push: { a: { $each: [1, 2], $sort: 1, $slice: -2 } } }, { a: [2, 3] }],
  [{ a: [3] }, { $push: { a: { $each: [1, 2], $position: 0, $slice: 2 } } }, { a: [1, 2] }],
  [{ a: [1, 2, 3] }, { $push: { a: { $each: [9], $position: -1 } } }, { a: [1, 2, 9, 3] }],
  [
    { a: [{ s: 2 }, { s: 1 }] },
    { $push: { a: { $each: [], $sort: { s: 1 } } } },
    { a: [{ s: 1 }, { s: 2 }] },
  ],
  [{ a: [1] }, { $push: { a: [1] } }, { a: [1, [1]] }],
  [{ a: [1] }, { $push: { a: { $each: 1 } } }, 2],
  [{ a: [1] }, { $addToSet: { a: double(1) } }, { a: [1] }],
  [
    { a: [{ x: 1, y: 1 }] },
    { $addToSet: { a: { y: 1, x: 1 } } },
    {
      a: [
        { x: 1, y: 1 },
        { y: 1, x: 1 },
      ],
    },
  ],
  [{ a: [1] }, { $addToSet: { a: { $each: [1, 2, 2] } } }, { a: [1, 2] }],
  [{ a: [1] }, { $addToSet: { a: { $each: 1 } } }, 14],
  [{ a: [1] }, { $push: { a: { $each: [2], $sort: { b: 0 } } } }, 2],
  [{ a: [1] }, { $push: { a: { $each: [2], $sort: 0 } } }, 2],
  [{ a: [1] }, { $push: { a: { $each: [2], $sort: 2 } } }, 2],
  [{ a: [1] }, { $push: { a: { $each: [2], $sort: { 'b.': 1 } } } }, 2],
  [{ a: [[1, 2], [2], 1] }, { $pull: { a: { $all: [1, 2] } } }, { a: [[2], 1] }],
  [{ a: [[1, 5], [2], 5] }, { $pull: { a: { $gt: 4 } } }, { a: [[2]] }],
  [{ a: 1 }, { $addToSet: { a: 1 } }, 2],
  [{ a: [1, 2, 3] }, { $pull: { a: { $gte: 2 } } }, { a: [1] }],
  [{ a: [{ x: 1, y: 2 }, { x: 2 }] }, { $pull: { a: { x: 1 } } }, { a: [{ x: 2 }] }],
  [{ a: [[1], 1, [1, 2]] }, { $pull: { a: [1] } }, { a: [1, [1, 2]] }],
  [{ a: ['x', 'yx', 'z'] }, { $pull: { a: /x$/ } }, { a: ['z'] }],
  [{ a: [null, 1] }, { $pull: { a: null } }, { a: [1] }],
  [{ a: [1, 2, 1] }, { $pullAll: { a: [1, 9] } }, { a: [2] }],
  [{ a: 1 }, { $pull: { a: 1 } }, 2],
  [{ a: [1, 2] }, { $pop: { a: -1 } }, { a: [2] }],
  [{ a: [1, 2] }, { $pop: { a: 3 } }, 9],
  [{ a: 2 }, { $pop: { a: 1 } }, 14],
  [{ a: 2 }, { $pop: { 'a.b': 1 } }, 28],
  [{ a: [{ b: [1] }] }, { $pop: { 'a.b': 1 } }, 28],
  [{ a: 2 }, { $pullAll: { b: 1 } }, 2],
]
const positions: Row[] = [
  [{ a: [1, 2, 3] }, { $set: { 'a.$': 9 } }, { a: [1, 9, 3] }, { filter: { a: 2 } }],
  [
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { 'a.$.v': 5 } },
    { a: [{ k: 1 }, { k: 2, v: 5 }] },
    { filter: { 'a.k': 2 } },
  ],
  [
    { a: [{ k: 1 }, { k: 2, v: 2 }] },
    { $unset: { 'a.$.v': 1 } },
    { a: [{ k: 1 }, { k: 2 }] },
    { filter: { a: { $elemMatch: { k: 2 } } } },
  ],
  [{ a: [1, 2] }, { $set: { 'a.$': 9 } }, 2],
  [{ a: [1, 2] }, { $set: { 'a.$': 9 } }, 2, { filter: { a: { $ne: 5 } } }],
  // `$` is the matched position, in whichever array, determined before the update changes anything.
  [{ a: [1, 2], b: [3, 4] }, { $set: { 'a.$': 9 } }, { a: [1, 9], b: [3, 4] }, { filter: { b: 4 } }],
  [
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { 'a.$.k': 5, 'a.$.v': 1 } },
    { a: [{ k: 1 }, { k: 5, v: 1 }] },
    { filter: { 'a.k': 2 } },
  ],
  [{ a: [1, 2, 3] }, { $set: { 'a.$': 9 } }, { a: [1, 2, 9] }, { filter: { a: { $all: [1, 3] } } }],
  [{ a: [1, 2], b: 1 }, { $set: { 'a.$': 9 } }, 2, { filter: { $or: [{ a: 2 }, { b: 1 }] } }],
  [{ a: [1, 2] }, { $set: { 'a.$': 9 } }, 2, { filter: { a: { $not: { $gt: 5 } } } }],
  [{ a: [{ b: [1] }] }, { $set: { 'a.$.b.$': 9 } }, 2, { filter: { 'a.b': 1 } }],
  [{ a: [1] }, { $set: { 'a.$[x]': 9 } }, 2, { arrayFilters: [{ y: 1 }] }],
  [{ a: [1] }, { $set: { 'a.$[1x]': 9 } }, 2, { arrayFilters: [{ '1x': 1 }] }],
  [{ a: [1, 2] }, { $inc: { 'a.$[]': 1 } }, { a: [2, 3] }],
  [
    { a: [{ b: [1, 5] }, { b: [7] }] },
    { $inc: { 'a.$[].b.$[x]': 1 } },
    { a: [{ b: [1, 6] }, { b: [8] }] },
    { arrayFilters: [{ x: { $gt: 3 } }] },
  ],
  [
    { a: [{ k: 1 }, { k: 2 }] },
    { $set: { 'a.$[e].v': 1 } },
    { a: [{ k: 1 }, { k: 2, v: 1 }] },
    { arrayFilters: [{ 'e.k': 2 }] },
  ],
  [{ a: [{ k: 1 }] }, { $set: { 'a.$[e].v': 1 } }, 2],
  [{ a: [{ k: 1 }] }, { $set: { 'a.0.v': 1 } }, 9, { arrayFilters: [{ 'e.k': 2 }] }],
  [{}, { $set: { 'a.$[]': 1 } }, 2],
  [{ a: [1] }, { $set: { $: 1 } }, 2, { filter: { a: 1 } }],
  [{ a: [1] }, { $set: { '$.a': 1 } }, 2, { filter: { a: 1 } }],
  [{ a: [1] }, { $set: { '$[].a': 1 } }, 2],
  [{ a: [1] }, { $rename: { 'a.$': 'b' } }, 2, { filter: { a: 1 } }],
]
const pipelines: Row[] = [
  [{ a: 2, b: 3 }, [{ $set: { c: { $add: ['$a', '$b'] } } }, { $unset: 'a' }], { b: 3, c: 5 }],
  [
    { a: double(2), b: long('9007199254740993') },
    [{ $set: { c: 1 } }],
    { a: double(2), b: long('9007199254740993'), c: 1 },
  ],
  [
    { a: [double(1), { l: long(2) }] },
    [{ $set: { a: { $concatArrays: ['$a', [3]] } } }],
    { a: [double(1), { l: long(2) }, 3] },
  ],
  [{ a: { b: 1 } }, [{ $set: { 'a.c': 2 } }], { a: { b: 1, c: 2 } }],
  [{ t: { u: { v: 1 } } }, [{ $replaceRoot: { newRoot: '$t' } }, { $set: { w: 1 } }], { u: { v: 1 }, w: 1 }],
  [{ a: 1 }, [{ $replaceWith: { $mergeObjects: ['$$ROOT', { z: 1 }] } }], { a: 1, z: 1 }],
  [{ a: 1 }, [{ $match: {} }], 72],
  // A failing constant part is reported when the first document arrives.
  [{ a: 1 }, [{ $set: { b: { $add: ['a', 1] } } }], 14],
  [{ a: 1 }, [{ $set: { b: { $cond: ['$a', 2, { $divide: [1, 0] }] } } }], { a: 1, b: 2 }],
  [{ a: 1 }, [{ $set: { b: { $add: ['a', 1] } } }], { a: 1 }, { filter: { a: 2 } }],
]
/** [filter, update, after] of an upsert without a match. */
const upserts: [Document, Document | Document[], Document][] = [
  [{ x: 1, 'y.z': 2, w: { $gt: 1 } }, { $set: { a: 1 } }, { x: 1, y: { z: 2 }, a: 1 }],
  [{ $and: [{ x: 1 }, { q: { $eq: 2 } }] }, { $setOnInsert: { a: 1 } }, { x: 1, q: 2, a: 1 }],
  [{ x: 1 }, { $inc: { x: 1 } }, { x: 2 }],
  [{}, { $setOnInsert: { $a: 1 } }, { $a: 1 }],
  [{ x: /a/ }, { $push: { l: 1 } }, { l: [1] }],
  [{}, [{ $set: { l: { $literal: 1 } } }], { l: 1 }],
  [
    { x: 1 },
    { $setOnInsert: { d: 1, b: 1 }, $inc: { c: 1 }, $set: { a: 1 } },
    { x: 1, a: 1, b: 1, c: 1, d: 1 },
  ],
  [
    { w: { $all: [/a/] }, x: { $in: [/a/] }, y: { $all: [{ $elemMatch: { b: 1 } }] } },
    { $set: { a: 1 } },
    { a: 1 },
  ],
]
/** Filters from which no document can be created, with the error code. */
const ambiguous: [Document, number][] = [
  [{ a: { b: 1 }, 'a.c': 2 }, 54],
  [{ 'a.c': 2, a: { b: 1 } }, 54],
  [{ 'a.b': 1, 'a.b.c': { $eq: 1 } }, 54],
  [{ $and: [{ 'a.c': null }, { $or: [{ a: {} }] }] }, 54],
  [{ a: null, 'a.b': 1 }, 54],
  [{ a: 1, $and: [{ a: 1 }] }, 54],
  [{ a: { $all: [1, 2] } }, 54],
  [{ 'a.b': 1, 'a-b': 1, 'a.b.c': 1 }, 54],
]

describe('updates', () => {
  const engine = engineOfBlock()
  let things: Collection<Document & { _id: number }>
  before(async () => {
    things = engine.db.collection('things')
  })
  beforeEach(() => things.deleteMany({}))

  const stored = async () => text(await things.findOne({}, { promoteValues: false }))

  for (const [subject, rows] of Object.entries({
    arithmetic,
    paths,
    additions,
    arrays,
    positions,
    pipelines,
  }))
    describe(subject, () => {
      for (const [before, update, after, { filter = {}, ...options } = {}] of rows)
        it(`apply ${text(update)} to ${text(before)}`, async () => {
          await things.insertOne({ _id: 1, ...before })
          const failure = await things
            .updateOne({ _id: 1, ...filter }, update, options)
            .catch((error: unknown) => error)
          if (failure instanceof MongoServerError) assert.equal(failure.code, after, failure.message)
          else assert.equal(await stored(), text({ _id: 1, ...(after as Document) }))
        })
    })

  describe('upserts', () => {
    for (const [filter, update, after] of upserts)
      it(`insert what ${text(filter)} and ${text(update)} make`, async () => {
        await things.updateOne({ _id: 1, ...filter }, update, { upsert: true })
        assert.equal(await stored(), text({ _id: 1, ...after }))
      })
  })

  describe('upserts from ambiguous filters', () => {
    const upsert = true
    for (const [filter, code] of ambiguous)
      it(`refuses ${text(filter)} with operators and pipelines, and accepts it with a replacement`, async () => {
        await assert.rejects(things.updateOne(filter, { $set: { z: 1 } }, { upsert }), { code })
        await assert.rejects(things.updateOne(filter, [{ $set: { z: 1 } }], { upsert }), { code })
        await assert.rejects(things.findOneAndUpdate(filter, { $set: { z: 1 } }, { upsert }), { code })
        assert.equal(await things.countDocuments({}), 0)
        assert.equal((await things.replaceOne(filter, { z: 1 }, { upsert })).upsertedCount, 1)
      })

    it('refuses a replacement of which only a part of the _id is known', async () => {
      const filter = { '_id.a': 1 } as Document
      await assert.rejects(things.replaceOne(filter, { z: 1 }, { upsert }), { code: 111 })
      await assert.rejects(things.replaceOne({ _id: 1, ...filter }, { z: 1 }, { upsert }), { code: 111 })
    })
  })

  it('refuses an invalid operand even if there are no documents', async () => {
    const updates: Document[] = [
      { $push: { a: { $each: 1 } } },
      { $pop: { a: 5 } },
      { $pull: { a: { $x: 1 } } },
    ]
    for (const update of updates) await assert.rejects(things.updateOne({ _id: 9 }, update), MongoServerError)
  })

  it('does not count a document as modified if nothing changed', async () => {
    await things.insertOne({ _id: 1, a: 1 })
    const idle: Document[] = [
      { $set: { a: 1 } },
      { $max: { a: 0 } },
      { $pull: { b: 1 } },
      { $unset: { b: 1 } },
    ]
    for (const update of idle) {
      const { matchedCount, modifiedCount } = await things.updateOne({ _id: 1 }, update)
      assert.deepEqual([matchedCount, modifiedCount], [1, 0], text(update))
    }
    // A replacement counts as a modification even if it changes nothing.
    assert.equal((await things.replaceOne({ _id: 1 }, { a: 1 })).modifiedCount, 1)
  })
})
