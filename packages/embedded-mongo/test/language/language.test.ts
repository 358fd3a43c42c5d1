import assert from 'node:assert/strict'
import {
  Binary,
  type Collection,
  DBRef,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  ObjectId,
} from 'mongodb'
import { addToSet, pullAll } from '../../language/updates/array-updates.ts'
import { engineOfBlock } from '../../testing.ts'

const decimal = (text: string) => Decimal128.fromString(text)

describe('the query language', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
  })

  /** The value of an expression with its exact type. */
  const value = async (expression: unknown): Promise<unknown> => {
    const options = { promoteValues: false, promoteLongs: false }
    const [document] = await engine.db.aggregate([{ $documents: [{ r: expression }] }], options).toArray()
    return document?.r
  }

  const results: [expression: unknown, result: unknown][] = [
    [{ $add: [1, new Int32(2 ** 31 - 1)] }, Long.fromNumber(2 ** 31)],
    [{ $add: [Long.MAX_VALUE, 1] }, new Double(2 ** 63)],
    [{ $add: [decimal('0.1'), 1] }, decimal('1.1')],
    [{ $multiply: [decimal('1E6144'), 10] }, decimal('Infinity')],
    [{ $divide: [decimal('1'), 3] }, decimal('0.3333333333333333333333333333333333')],
    [{ $round: [2.5, 0] }, new Double(2)],
    [{ $trunc: [Long.fromNumber(1234), -2] }, Long.fromNumber(1200)],
    [{ $toInt: decimal('1.2E3') }, new Int32(1200)],
    [{ $toDecimal: '1.00000000000000000000000000000000005' }, decimal('1.000000000000000000000000000000000')],
    [{ $eq: [Long.fromNumber(1), 1] }, true],
    [{ $lt: [null, 0] }, true],
    [{ $lt: [1, 'a'] }, true],
    [{ $eq: ['$missing', null] }, false],
    [{ $in: [decimal('1'), [1]] }, true],
    [
      {
        $setUnion: [
          [3, 1],
          [Long.fromNumber(1), 2],
        ],
      },
      [new Int32(1), new Int32(2), new Int32(3)],
    ],
    [{ $dateAdd: { startDate: new Date('2024-01-31'), unit: 'month', amount: 1 } }, new Date('2024-02-29')],
    [{ $dateFromString: { dateString: '2024-02-30', onError: 'none' } }, 'none'],
    [{ $regexFind: { input: 'añb', regex: 'b' } }, { match: 'b', idx: new Int32(2), captures: [] }],
    [{ $convert: { input: '12', to: 'int' } }, new Int32(12)],
    [{ $type: '$missing' }, 'missing'],
    [{ $add: [0.1, decimal('1')] }, decimal('1.100000000000000')],
    [{ $sum: [0.5, decimal('0.5')] }, decimal('1.0')],
    [
      { $lt: [decimal('1234567890123456789012345678901234'), decimal('1234567890123456789012345678901235')] },
      true,
    ],
    [
      { $round: [decimal('9.999999999999999999999999999999999E6144'), 0] },
      decimal('9.999999999999999999999999999999999E6144'),
    ],
    [{ $trunc: [decimal('1.5'), 3] }, decimal('1.500')],
    [{ $ceil: decimal('1E40') }, decimal('NaN')],
    [{ $trunc: [1.5, '$missing'] }, null],
    [{ $round: [1e308, 2] }, new Double(1e308)],
    [{ $pow: [decimal('0.5'), 2] }, decimal('0.2500000000000000000000000000000000')],
    [{ $pow: [1, Number.POSITIVE_INFINITY] }, new Double(1)],
    [{ $toString: 1e16 }, '1e+16'],
    [{ $toString: 0.00009 }, '9e-05'],
    [{ $toLower: 1e6 + 0.5 }, '1e+06'],
    [{ $toDouble: '0x1.8p1' }, new Double(3)],
    [{ $toDate: new ObjectId('80000000ffffffffffffffff') }, new Date('1901-12-13T20:45:52.000Z')],
    [{ $dateToString: { date: new Date(0), format: '%Z', timezone: '+04:30' } }, '270'],
    [{ $indexOfCP: ['hello', 'llo', 0, 4] }, new Int32(2)],
    [{ $indexOfCP: ['hello', '', 2, 2] }, new Int32(-1)],
    [{ $substrBytes: ['hello', decimal('1.5'), -1] }, 'llo'],
    [{ $size: { $regexFindAll: { input: 'ab', regex: '' } } }, new Int32(2)],
    [{ $slice: [[1, 2], 1, '$missing'] }, null],
    [{ $map: { input: [{ b: 1 }], as: 'CURRENT', in: '$b' } }, [new Int32(1)]],
    [{ $map: { input: [1], in: '$$this' } }, [new Int32(1)]],
    // All operators compare numbers of all types by value, and sort them before strings.
    [{ $min: ['a', Long.fromNumber(1), null] }, Long.fromNumber(1)],
    [{ $max: ['a', decimal('1E30'), null] }, 'a'],
    [{ $max: [Long.fromNumber(2), decimal('2.5'), 1] }, decimal('2.5')],
    [
      { $sortArray: { input: ['a', 2, null, decimal('1.5'), Long.fromNumber(1)], sortBy: 1 } },
      [null, Long.fromNumber(1), decimal('1.5'), new Int32(2), 'a'],
    ],
    [{ $cmp: [decimal('0.1'), 0.1] }, new Int32(-1)],
    [{ $gt: [null, '$missing'] }, true],
    [{ $setIntersection: [[1, 2], [decimal('2')]] }, [new Int32(2)]],
    [{ $indexOfArray: [[Long.fromNumber(7), 7], 7] }, new Int32(0)],
    // Numbers keep their type, or get a wider one.
    [{ $add: [1, 2] }, new Int32(3)],
    [{ $add: [1, Long.fromNumber(2)] }, Long.fromNumber(3)],
    [{ $add: [1, new Double(2)] }, new Double(3)],
    [{ $multiply: [65_536, 65_536] }, Long.fromNumber(2 ** 32)],
    [{ $subtract: [-(2 ** 31), 1] }, Long.fromNumber(-(2 ** 31) - 1)],
    [{ $mod: [7, Long.fromNumber(3)] }, Long.fromNumber(1)],
    [{ $abs: new Int32(-(2 ** 31)) }, Long.fromNumber(2 ** 31)],
    [{ $divide: [6, 3] }, new Double(2)],
    [{ $avg: [Long.MAX_VALUE, Long.MIN_VALUE] }, new Double(0)],
    [{ $avg: [decimal('9E6144'), decimal('-9E6144')] }, decimal('0')],
    [{ $pow: [decimal('-Infinity'), -1] }, decimal('0E-6176')],
    [
      { $toDecimal: '1.00000000000000000000000000000000099999' },
      decimal('1.000000000000000000000000000000000'),
    ],
    [
      { $toDecimal: '100000000000000000000000000000000009' },
      decimal('1.000000000000000000000000000000000E+35'),
    ],
    [{ $dateFromString: { dateString: '2024 167', format: '%Y %j' } }, new Date('2024-06-16')],
    [{ $lt: [new Binary(Buffer.of(1), 128), new Binary(Buffer.of(1), 2)] }, true],
    [{ $pow: [2, 40] }, Long.fromNumber(2 ** 40)],
    [{ $sum: [1, Long.fromNumber(1)] }, Long.fromNumber(2)],
    [{ $avg: [1, 2] }, new Double(1.5)],
    [
      { $dateSubtract: { startDate: new Date('2024-03-31'), unit: 'month', amount: 1 } },
      new Date('2024-02-29'),
    ],
    [{ $dateAdd: { startDate: new Date('2024-02-29'), unit: 'year', amount: 1 } }, new Date('2025-02-28')],
    [{ $dateAdd: { startDate: new Date('2024-08-31'), unit: 'quarter', amount: 1 } }, new Date('2024-11-30')],
  ]
  for (const [expression, expected] of results)
    it(`evaluates ${JSON.stringify(expression).slice(0, 90)}`, async () => {
      assert.deepEqual(await value(expression), expected)
    })

  const refusals: [expression: unknown, code: number][] = [
    [{ $size: '$missing' }, 17124],
    [{ $divide: [1, 0] }, 2],
    [{ $nothing: 1 }, 168],
    [{ $log10: decimal('9E6144') }, 115],
    [{ $concat: [1, 'a'] }, 16702],
    [{ $dateTrunc: { date: new Date(0), unit: 'year', binSize: Long.fromNumber(2e11) } }, 5439006],
    [
      {
        $dateAdd: {
          startDate: new Date(0),
          unit: 'day',
          amount: decimal('1.000000000000000000000000000000001'),
        },
      },
      5166405,
    ],
    [{ $regexMatch: { input: 'a', regex: 'a'.repeat(16_385) } }, 51111],
    [{ $setUnion: [1, null] }, 17043],
    [{ $toDecimal: '1E6145' }, 241],
    [{ $dateFromString: { dateString: '2024-02-30' } }, 241],
    [{ $range: [0, 2_000_000_000] }, 146],
    ['$$unknown', 17276],
    // Constants are evaluated first, needed or not.
    [{ $ifNull: [1, { $divide: [1, 0] }] }, 2],
    [{ $cond: [true, 1, { $divide: [1, 0] }] }, 2],
    [{ $and: [false, { $divide: [1, 0] }] }, 2],
    [{ $map: { input: [], in: { $divide: [1, 0] } } }, 2],
    [{ $convert: { input: '42', to: 'int', onError: { $divide: [1, 0] } } }, 2],
    // Invalid operands are reported before evaluation.
    [{ $and: [{ $divide: [1, 0] }, { $nothing: 1 }] }, 168],
    [{ $convert: { input: new Binary(Buffer.alloc(16), 4), to: 'string' } }, 4341115],
    [{ $toString: new Date(-1e15) }, 18537],
  ]
  for (const [expression, code] of refusals)
    it(`refuses ${JSON.stringify(expression).slice(0, 90)} with code ${code}`, async () => {
      await assert.rejects(value(expression), (error: { code: unknown }) => Number(error.code) === code)
    })

  const equalLetters: [expression: unknown, result: unknown][] = [
    [{ $eq: ['a', 'A'] }, true],
    [{ $in: ['a', ['A']] }, true],
    [{ $cmp: ['a', 'B'] }, new Int32(-1)],
    [{ $min: ['b', 'A'] }, 'A'],
    [{ $max: ['B', 'a'] }, 'B'],
    [{ $setUnion: [['a'], ['A']] }, ['a']],
    [{ $setEquals: [['a'], ['A']] }, true],
    [{ $indexOfArray: [['A'], 'a'] }, new Int32(0)],
    [{ $sortArray: { input: ['b', 'A', 'a', 'B'], sortBy: 1 } }, ['A', 'a', 'b', 'B']],
    [{ $cond: [{ $eq: ['a', 'A'] }, 1, 0] }, new Int32(1)],
    [{ $eq: ['a\u200b', 'A'] }, true],
    // Positions in a string ignore the collation.
    [{ $indexOfCP: ['A', 'a'] }, new Int32(-1)],
  ]
  for (const [expression, expected] of equalLetters)
    it(`evaluates ${JSON.stringify(expression)} under a collation`, async () => {
      const options = { promoteValues: false, collation: { locale: 'en', strength: 2 } }
      const [document] = await engine.db.aggregate([{ $documents: [{ r: expression }] }], options).toArray()
      assert.deepEqual(document?.r, expected)
    })

  it('groups, distinct, $expr and sorts in pipelines respect a collation', async () => {
    const collation = { locale: 'en', strength: 2 }
    await things.insertMany(['a', 'A', 'b'].map((v, i) => ({ _id: i as never, v })))
    const ids = (pipeline: Document[]) => things.aggregate(pipeline, { collation }).toArray()
    assert.deepEqual(await ids([{ $group: { _id: '$v', n: { $sum: 1 } } }, { $sort: { _id: -1 } }]), [
      { _id: 'b', n: 1 },
      { _id: 'a', n: 2 },
    ])
    assert.deepEqual(
      (await ids([{ $sort: { v: -1, _id: -1 } }])).map(({ _id }) => _id),
      [2, 1, 0],
    )
    assert.deepEqual(await things.distinct('v', {}, { collation }), ['a', 'b'])
    const countMatches = async ($expr: Document) =>
      (await things.find({ $expr }, { collation }).toArray()).length
    assert.equal(await countMatches({ $eq: ['$v', 'A'] }), 2)
    // MongoDB turns this expression into a query without a collation.
    assert.equal(await countMatches({ $in: ['$v', ['A']] }), 1)
  })

  it('stages add fields in arrays, group, sample and join', async () => {
    assert.deepEqual(await things.aggregate([{ $match: {} }, { $count: 'n' }]).toArray(), [])
    await things.insertMany([
      { _id: 1 as never, a: [{ b: 1 }, { b: 2 }], g: Long.fromNumber(1) },
      { _id: 2 as never, g: 1 },
      { _id: 3 as never, g: null },
      { _id: 4 as never },
    ])
    const run = (...pipeline: Document[]) => things.aggregate(pipeline).toArray()
    assert.deepEqual(await run({ $addFields: { 'a.c': 0 } }, { $limit: 1 }, { $project: { _id: 0, a: 1 } }), [
      {
        a: [
          { b: 1, c: 0 },
          { b: 2, c: 0 },
        ],
      },
    ])
    const groups = await run(
      { $group: { _id: '$g', n: { $sum: 1 }, all: { $push: '$a' } } },
      { $sort: { _id: 1 } },
    )
    assert.deepEqual(
      groups.map(({ n, all }) => [n, all.length]),
      [
        [2, 0],
        [2, 1],
      ],
    )
    assert.equal((await run({ $sample: { size: 2_147_483_647 } })).length, 4)
    await assert.rejects(run({ $sample: { size: -1 } }), { code: 28747 })
    const joined = {
      from: 'things',
      let: { own: '$g' },
      pipeline: [{ $match: { $expr: { $eq: ['$g', '$$own'] } } }],
      as: 'same',
    }
    assert.deepEqual(
      (await run({ $lookup: joined })).map(({ same }) => same.length),
      [2, 2, 1, 1],
    )
  })

  it('updates handle 64 bits, DBRefs and decimals, and add to large sets', async () => {
    const id = new ObjectId()
    await things.insertOne({
      _id: 1 as never,
      long: Long.MAX_VALUE,
      ref: new DBRef('c', id),
      d: decimal('9E6144'),
      list: [],
    })
    await things.updateOne(
      { _id: 1 as never },
      {
        $bit: { long: { and: Long.fromString('4611686018427387905') } },
        $set: { 'ref.$id': 7 },
        $mul: { d: 10 },
      },
    )
    const stored = await things.findOne({ _id: 1 as never }, { promoteLongs: false, promoteValues: false })
    assert.equal(String(stored?.long), '4611686018427387905')
    assert.equal(Number(stored?.ref.oid), 7)
    assert.equal(String(stored?.d), 'Infinity')
    const many = Array.from({ length: 50_000 }, (_, i) => i)
    await things.updateOne({ _id: 1 as never }, { $addToSet: { list: { $each: many } } })
    assert.equal(await things.countDocuments({ list: { $all: many } }), 1)
    assert.equal(await things.countDocuments({ list: { $all: [...many, -1] } }), 0)
    await things.updateOne({ _id: 1 as never }, { $pullAll: { list: many.slice(1) } as never })
    assert.deepEqual((await things.findOne({ _id: 1 as never }))?.list, [0])
    await assert.rejects(things.updateOne({ a: 1, $and: [{ a: 2 }] }, { $set: { b: 1 } }, { upsert: true }), {
      code: 54,
    })
  })

  it('updates read each element of a large set a few times, not once for each other element', () => {
    let reads = 0
    const element = (i: number) => ({
      get i() {
        reads++
        return i
      },
    })
    const elements = Array.from({ length: 1000 }, (_, i) => element(i % 500))
    const set = addToSet({ $each: elements })(elements.slice(0, 100), 'list')
    assert.equal((set as unknown[]).length, 500)
    assert.deepEqual(pullAll(elements)(set, 'list'), [])
    assert.ok(reads < 10 * elements.length, `${reads} reads`)
  })

  it('queries find the fields of a DBRef', async () => {
    const id = new ObjectId()
    await things.insertMany([{ a: [new DBRef('c', id, 'd'), new DBRef('c', new ObjectId())] }, { a: [1] }])
    for (const filter of [{ $id: id }, { $ref: 'c', $id: id }, { $db: 'd' }])
      assert.equal(await things.countDocuments({ a: { $elemMatch: filter } }), 1, JSON.stringify(filter))
    assert.equal(await things.countDocuments({ a: { $elemMatch: { $ref: 'C' } } }), 0)
    const collation = { locale: 'en', strength: 2 }
    assert.equal(await things.countDocuments({ a: { $elemMatch: { $ref: 'C' } } }, { collation }), 0)
    assert.equal(await things.countDocuments({ $id: id } as Document), 0)
  })

  it('queries refuse invalid operands', async () => {
    const refusedFilters: [Document, number][] = [
      [{ a: { $type: [] } }, 9],
      [{ a: { $type: true } }, 14],
      [{ a: { $regex: 'a', $options: null } }, 2],
      [{ a: { $regex: /a/i, $options: 'm' } }, 51075],
      [{ a: { $options: 'm', $regex: /a/i } }, 51074],
      [{ a: { $all: [1, { $elemMatch: { b: 1 } }] } }, 2],
    ]
    for (const [filter, code] of refusedFilters)
      await assert.rejects(things.findOne(filter), { code }, JSON.stringify(filter))
    await things.insertOne({ a: decimal('999999999999999999') })
    assert.equal(await things.countDocuments({ a: { $mod: [3, 0] } }), 1)
    assert.equal(
      await things.countDocuments({ a: { $mod: [Long.MAX_VALUE, Long.fromString('999999999999999999')] } }),
      1,
    )
  })

  it('distinct separates unequal values and sorts them', async () => {
    const large = Long.fromString('9007199254740993')
    await things.insertMany([
      { a: [3, null] },
      { a: large },
      { a: Long.fromString('9007199254740992') },
      { a: 3 },
    ])
    await things.insertMany([{ a: /x/i }, { a: /x/ }])
    const values = await things.distinct(
      'a',
      {},
      { promoteValues: false, promoteLongs: false, bsonRegExp: true },
    )
    assert.deepEqual(
      values.map((one: unknown) =>
        one === null ? 'null' : String((one as { options?: string }).options ?? one),
      ),
      ['null', '3', '9007199254740992', '9007199254740993', '', 'i'],
    )
  })

  it('queries test existence by truth and bits of binary data, and refuse sorts by two arrays', async () => {
    await things.insertMany([
      { _id: 1 as never, b: new Binary(Buffer.of(5)) },
      { _id: 2 as never, x: [1], y: [2] },
      { _id: 3 as never, x: 0, y: [] },
    ])
    for (const truth of ['yes', '', 1, {}, [], true])
      assert.equal(await things.countDocuments({ b: { $exists: truth as never } }), 1)
    for (const untruth of [0, null, false, decimal('0'), Long.ZERO])
      assert.equal(await things.countDocuments({ b: { $exists: untruth as never } }), 2)
    assert.equal(await things.countDocuments({ b: { $bitsAllSet: [0, 2] } }), 1)
    assert.equal(await things.countDocuments({ b: { $bitsAllClear: [1, 2_000_000_000] } }), 1)
    await assert.rejects(things.countDocuments({ b: { $bitsAllSet: [2 ** 31] } }), { code: 2 })
    await assert.rejects(things.countDocuments({ b: { $bitsAllSet: 'x' } }), { code: 2 })
    await assert.rejects(things.countDocuments({ b: { $bitsAllSet: -1 } }), { code: 9 })
    await things.insertMany([{ b: decimal('9223372036854775807') }, { b: new Binary(Buffer.from([6]), 2) }])
    assert.equal(await things.countDocuments({ b: { $bitsAllSet: decimal('9223372036854775807') } }), 1)
    // Old binary data begins with its length.
    assert.equal(await things.countDocuments({ b: { $bitsAllSet: [0, 33, 34] } }), 2)
    await assert.rejects(things.find().sort({ x: 1, y: 1 }).toArray(), { code: 2 })
    await assert.rejects(things.aggregate([{ $sort: { x: 1, y: 1 } }]).toArray(), { code: 2 })
  })

  it('queries with $elemMatch search arrays within arrays', async () => {
    await things.insertMany([
      { _id: 1 as never, v: [[1, 2], [3]] },
      { _id: 2 as never, v: [1, [{ b: 1 }]] },
      { _id: 3 as never, v: [{ b: 1 }] },
    ])
    const matching: [Document, number[]][] = [
      [{ $elemMatch: { $gt: 2 } }, [1]],
      [{ 0: 3 }, [1]],
      [{ $size: 2 }, [1]],
      // An array within the array counts as a document with the fields 0, 1, …, so it has no field b.
      [{ b: 1 }, [3]],
      [{ '0.b': 1 }, [2]],
      [{ b: null }, [1, 2]],
      [{ b: { $exists: false }, 1: { $exists: true } }, [1]],
      [{ $or: [{ b: 1 }, { 1: 2 }] }, [1, 3]],
      [{ $and: [{ 0: 1 }, { 1: 2 }] }, [1]],
      [{ $nor: [{ b: 1 }] }, [1, 2]],
      [{ 0: { $not: { $lt: 3 } } }, [1, 2, 3]],
      [{}, [1, 2, 3]],
    ]
    const idsOf = async (filter: Document) => (await things.find(filter).toArray()).map(({ _id }) => _id)
    for (const [$elemMatch, ids] of matching) {
      const title = JSON.stringify($elemMatch)
      assert.deepEqual(await idsOf({ v: { $elemMatch } }), ids, title)
      assert.deepEqual(await idsOf({ v: { $all: [{ $elemMatch }] } }), ids, title)
      const otherIds = [1, 2, 3].filter((id) => !ids.includes(id))
      assert.deepEqual(await idsOf({ v: { $not: { $elemMatch } } }), otherIds, title)
    }
    const projection = { v: { $elemMatch: { b: null } } }
    const document = await things.findOne({ _id: 2 as never }, { projection })
    assert.deepEqual(document?.v, [[{ b: 1 }]])
    await things.updateOne({ v: { $elemMatch: { '0.b': 1 } } }, { $set: { 'v.$': 'found' } })
    assert.deepEqual((await things.findOne({ _id: 2 as never }))?.v, [1, 'found'])
  })

  it('a projection shows the array element that the filter matched under its collation', async () => {
    await things.insertOne({ _id: 1 as never, a: ['x', 'B', 'b'] })
    const collation = { locale: 'en', strength: 2 }
    for (const projection of [{ 'a.$': 1 }, { a: { $elemMatch: { $eq: 'b' } } }])
      assert.deepEqual(await things.findOne({ a: 'b' }, { collation, projection }), { _id: 1, a: ['B'] })
  })

  it('a count with a sparse index counts only indexed documents', async () => {
    await things.insertMany([{ s: 1 }, {}])
    await things.createIndex({ s: 1 }, { sparse: true })
    assert.equal((await engine.db.command({ count: 'things', hint: 's_1' })).n, 1)
    assert.equal((await engine.db.command({ count: 'things', query: {}, hint: { s: 1 } })).n, 1)
    assert.equal((await engine.db.command({ count: 'things' })).n, 2)
  })

  it('a cursor reports that its collection was dropped', async () => {
    await things.insertMany(Array.from({ length: 500 }, (_, i) => ({ i })))
    const cursor = things.find({}, { batchSize: 5 })
    await cursor.next()
    await things.drop()
    await assert.rejects(cursor.toArray(), { code: 175 })
  })

  it('indexes on the same key may differ in scope, and others are refused as in MongoDB', async () => {
    await things.createIndex({ a: 1 })
    await assert.rejects(things.createIndex({ a: 1 }, { unique: true }), { code: 86 })
    const scopes: Document[] = [
      { unique: true },
      { sparse: true },
      { partialFilterExpression: { z: 1 } },
      { collation: { locale: 'en', strength: 2 } },
    ]
    for (const [i, scope] of scopes.entries()) {
      await assert.rejects(things.createIndex({ a: 1 }, scope), { code: 86 })
      await things.createIndex({ a: 1 }, { ...scope, name: `other${i}` })
      await assert.rejects(things.createIndex({ a: 1 }, { ...scope, name: `another${i}` }), { code: 85 })
    }
    await things.dropIndexes()
    const partial: Document[] = [
      { b: { $ne: 1 } },
      { b: { $nin: [1] } },
      { b: { $not: { $gt: 1 } } },
      { b: { $exists: false } },
      { b: /a/ },
      { $nor: [{ b: 1 }] },
    ]
    for (const partialFilterExpression of partial)
      await assert.rejects(things.createIndex({ b: 1 }, { partialFilterExpression }), { code: 67 })
    for (const partialFilterExpression of [{ $and: 5 }, { $or: [5] }])
      await assert.rejects(things.createIndex({ b: 1 }, { partialFilterExpression }), ({ code }) =>
        [2, 67].includes(code),
      )
    // The options of older servers have no effect.
    await things.createIndex({ b: 1 }, { background: true, dropDups: true } as object)
    assert.deepEqual((await things.indexes())[1], { v: 2, key: { b: 1 }, name: 'b_1', background: true })
    await things.dropIndexes()
    for (const field of ['a..b', '.a', 'a.', '', '$a', 'a.$b'])
      await assert.rejects(things.createIndex({ [field]: 1 }), { code: 67 }, field)
    await assert.rejects(things.createIndex({ _id: 1 }, { expireAfterSeconds: 1 }), { code: 197 })
    for (const option of ['unique', 'sparse', 'hidden'])
      await assert.rejects(things.createIndex({ c: 1 }, { [option]: 'yes' }), { code: 14 })
    for (let i = 1; i < 64; i++) await things.createIndex({ [`f${i}`]: 1 })
    await assert.rejects(things.createIndex({ last: 1 }), { code: 67 })
  })
})
