import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Binary, type Collection, type Document, Double } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

describe('indexes', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
  })

  /** The index of a query's plan and the number of documents examined. */
  const plan = async (filter: Document, options: Document = {}): Promise<[string | undefined, number]> => {
    const { queryPlanner, executionStats } = await things.find(filter, options).explain()
    const { winningPlan } = queryPlanner
    const scan = winningPlan.inputStage?.inputStage ?? winningPlan.inputStage ?? winningPlan
    return [scan.indexName, executionStats.totalDocsExamined]
  }

  it('count the keys of a range without reading documents', async () => {
    await things.createIndex({ group: 1, at: -1 })
    const timeOf = (i: number) => new Date(i * 1000)
    await things.insertMany(Array.from({ length: 500 }, (_, i) => ({ group: i % 5, at: timeOf(i), n: i })))
    const explainCount = async (query: Document, more: Document = {}) => {
      const count = { count: 'things', query, ...more }
      const { queryPlanner, executionStats } = await engine.db.command({ explain: count })
      const { n } = await engine.db.command(count)
      const { winningPlan } = queryPlanner
      assert.equal(n, executionStats.executionStages?.nCounted ?? executionStats.nReturned)
      assert.equal(n, (await things.find(query, { hint: { $natural: 1 } }).toArray()).length)
      const { totalKeysExamined, totalDocsExamined } = executionStats
      return [winningPlan.inputStage?.stage, n, totalKeysExamined, totalDocsExamined]
    }
    const range = { group: 3, at: { $gte: timeOf(100), $lt: timeOf(400) } }
    assert.deepEqual(await explainCount(range), ['COUNT_SCAN', 60, 60, 0])
    assert.deepEqual(await explainCount({ group: { $gt: 1 } }), ['COUNT_SCAN', 300, 300, 0])
    assert.deepEqual(await explainCount({ group: { $in: [1, 4, 9] } }), ['COUNT_SCAN', 200, 200, 0])
    assert.deepEqual(await explainCount({}), ['RECORD_STORE_FAST_COUNT', 500, 0, 0])
    assert.deepEqual(await explainCount({ group: 3, n: { $gte: 0 } }), ['IXSCAN', 100, 100, 100])
    assert.equal(await things.countDocuments(range), 60)
  })

  it('leave out documents without the field if sparse, and are not used for null', async () => {
    await things.createIndex({ a: 1 }, { sparse: true, unique: true })
    await things.insertMany([{}, {}, { a: null }, { a: 1 }])
    assert.equal(await things.countDocuments({ a: null }), 3)
    assert.deepEqual(await plan({ a: null }), [undefined, 4])
    assert.deepEqual(await plan({ a: 1 }), ['a_1', 1])
    assert.deepEqual(await plan({ a: { $exists: false } }), [undefined, 4])
    assert.deepEqual(await plan({ a: { $in: [1, null] } }), [undefined, 4])
    assert.equal((await things.find().sort({ a: 1 }).toArray()).length, 4)
  })

  it('use both bounds of an element of an array', async () => {
    await things.createIndex({ words: 1 })
    const words = (i: number) => ({ words: [`a${i}`, `b${i}`, `c${i}`] })
    await things.insertMany([...Array.from({ length: 9 }, (_, i) => words(i)), { words: 'b3' }, {}])
    const between = { words: { $elemMatch: { $gte: 'b2', $lte: 'b4' } } }
    assert.deepEqual(await plan(between), ['words_1', 4])
    assert.equal(await things.countDocuments(between), 3)
    assert.equal(await things.countDocuments({ words: { $elemMatch: { $gt: 'b8', $lt: 'c' } } }), 0)
    assert.equal(await things.countDocuments({ words: { $elemMatch: { $gte: 'b', $lt: 3 } } }), 0)
  })

  it('are preferred for a list of values if unique, unless the list is long', async () => {
    await things.createIndexes([{ key: { ehrId: 1, at: 1 } }, { key: { ehrId: 1, kind: 1, state: 1 } }])
    const thing = (i: number) => ({ _id: i as never, ehrId: 'a', kind: i % 2, state: 'b', at: i })
    await things.insertMany(Array.from({ length: 500 }, (_, i) => thing(i)))
    const among = (length: number): Document => ({ _id: { $in: Array.from({ length }, (_, i) => i) } })
    assert.deepEqual(await plan({ ehrId: 'a', ...among(3) }), ['_id_', 3])
    assert.deepEqual(await plan({ ehrId: 'a', ...among(100) }, { sort: { at: -1 }, limit: 2 }), ['_id_', 100])
    assert.deepEqual(await plan({ ehrId: 'a', kind: 1, state: 'b', ...among(3) }), ['_id_', 3])
    const filter = { ehrId: 'a', kind: 1, state: 'b', ...among(300) }
    assert.deepEqual(await plan(filter), ['ehrId_1_kind_1_state_1', 250])
    assert.equal(await things.countDocuments(filter), 150)
  })

  it('are used only if the query implies their filter, if partial', async () => {
    await things.createIndex({ a: 1 }, { name: 'p', partialFilterExpression: { n: { $gt: 5 }, live: true } })
    await things.insertMany([
      { a: 1, n: 3, live: true },
      { a: 1, n: 7, live: true },
      { a: 1, n: 8, live: false },
    ])
    assert.deepEqual(await plan({ a: 1, n: { $gt: 6 }, live: true }), ['p', 1])
    assert.deepEqual(await plan({ a: 1, n: 7, live: true }), ['p', 1])
    const { winningPlan } = (await things.find({ a: 1, n: 7, live: true }).explain()).queryPlanner
    const { isPartial, isUnique, isSparse } = winningPlan.inputStage
    assert.deepEqual({ isPartial, isUnique, isSparse }, { isPartial: true, isUnique: false, isSparse: false })
    for (const filter of [
      { a: 1 },
      { a: 1, live: true },
      { a: 1, n: { $gt: 4 }, live: true },
      { a: 1, n: { $gte: 5 }, live: true },
    ])
      assert.deepEqual(await plan(filter), [undefined, 3])
    await things.updateOne({ n: 3 }, { $set: { n: 9 } })
    assert.equal(await things.countDocuments({ a: 1, n: { $gt: 6 }, live: true }), 2)
    await things.createIndex({ b: 1 }, { name: 'q', partialFilterExpression: { c: { $exists: true } } })
    await things.insertMany([{ b: 1 }, { b: 1, c: null }])
    assert.deepEqual(await plan({ b: 1, c: { $exists: true } }), ['q', 1])
    assert.deepEqual(await plan({ b: 1, c: 4 }), ['q', 1])
    for (const c of [{ $exists: false }, null]) assert.equal((await plan({ b: 1, c }))[0], undefined)
    await things.createIndex({ u: 1 }, { unique: true, partialFilterExpression: { u: { $exists: true } } })
    await assert.rejects(things.insertMany([{ u: 1 }, { u: 1 }]), { code: 11000 })
  })

  it('serve prefixes, ranges and orders in both directions if compound or nested', async () => {
    await things.createIndex({ 'who.id': 1, at: -1, n: 1 }, { name: 'c' })
    const documents = Array.from({ length: 60 }, (_, i) => ({
      who: { id: i % 3 },
      at: new Date(i * 1000),
      n: i % 7,
    }))
    await things.insertMany(documents)
    const documentsOf = (id: number) => documents.filter(({ who }) => who.id === id)
    assert.deepEqual(await plan({ 'who.id': 1 }), ['c', 20])
    assert.deepEqual(await plan({ 'who.id': 1, at: { $gte: new Date(50_000) } }), ['c', 3])
    for (const direction of [1, -1] as const) {
      const { queryPlanner } = await things.find({ 'who.id': 2 }).sort({ at: direction }).explain()
      assert.equal(queryPlanner.winningPlan.stage, 'FETCH')
      const matches = await things.find({ 'who.id': 2 }).sort({ at: direction }).toArray()
      const times = documentsOf(2)
        .map(({ at }) => at.getTime())
        .sort((a, b) => (a - b) * direction)
      assert.deepEqual(
        matches.map(({ at }) => at.getTime()),
        times,
      )
    }
  })

  it('use only one bound and provide no order if multikey', async () => {
    await things.createIndex({ v: 1 })
    await things.insertMany([
      { _id: 1 as never, v: [1, 20] },
      { _id: 2 as never, v: 5 },
      { _id: 3 as never, v: [6, 7] },
    ])
    const ids = (filter: Document, sort: Document) =>
      things
        .find(filter)
        .sort(sort)
        .map(({ _id }) => _id)
        .toArray()
    assert.deepEqual(await ids({ v: { $gt: 8, $lt: 4 } }, { _id: 1 }), [1])
    assert.deepEqual(await ids({ v: { $gte: 1 } }, { v: 1 }), [1, 2, 3])
    assert.deepEqual(await ids({ v: { $gte: 1 } }, { v: -1 }), [1, 3, 2])
    await things.createIndex({ 'l.a': 1, 'l.b': 1 })
    await things.insertOne({
      _id: 4 as never,
      l: [
        { a: 1, b: 9 },
        { a: 3, b: 2 },
      ],
    })
    assert.deepEqual(await ids({ 'l.a': 1, 'l.b': 2 }, { _id: 1 }), [4])
    assert.deepEqual((await plan({ 'l.a': 1, 'l.b': 2 }))[0], 'l.a_1_l.b_1')
  })

  it('combine the fields of one document and keep its order, unless some document has several there', async () => {
    await things.createIndex({ 'b.e': 1, 'b.r': 1, at: -1 })
    await things.insertMany(
      Array.from({ length: 100 }, (_, at) => ({ b: { e: at % 2, r: ['x', 'y', `z${at}`] }, at })),
    )
    const filter = { 'b.e': 1, 'b.r': { $in: ['x', 'z7', 'z9'] } }
    const newest = () => things.find(filter).sort({ at: -1 }).limit(3)
    const countExamined = async () => (await newest().explain()).executionStats.totalDocsExamined
    assert.deepEqual(
      (await newest().toArray()).map(({ at }) => at),
      [99, 97, 95],
    )
    assert.equal(await countExamined(), 3)
    const parts = [
      { e: 1, r: ['a'] },
      { e: 3, r: ['x'] },
    ]
    await things.insertOne({ b: parts, at: 200 })
    assert.deepEqual(
      (await newest().toArray()).map(({ at }) => at),
      [200, 99, 97],
    )
  })

  it('answer covered queries from keys alone, except ambiguous keys', async () => {
    await things.createIndex({ who: 1, at: -1, n: 1 })
    const time = new Date(1000)
    await things.insertMany([
      { who: 'a', at: time, n: 1, name: 'x' },
      { who: 'a', at: new Date(0), n: -2.5 },
      { who: 'a', at: new Date(-1), n: 2 ** 40 },
      { who: 'b', at: time, n: 3 },
      { who: 'c', at: time },
    ])
    const projection = { _id: 0, at: 1, n: 1 }
    const planOf = async (filter: Document, fields: Document = projection) => {
      const cursor = things.find(filter, { projection: fields })
      const { queryPlanner, executionStats } = await cursor.explain()
      return [queryPlanner.winningPlan.stage, executionStats.totalDocsExamined, await cursor.toArray()]
    }
    const newest = [
      { at: time, n: 1 },
      { at: new Date(0), n: -2.5 },
      { at: new Date(-1), n: 2 ** 40 },
    ]
    assert.deepEqual(await planOf({ who: 'a' }), ['PROJECTION_COVERED', 0, newest])
    assert.deepEqual(await planOf({ who: 'a', at: { $gte: time } }), [
      'PROJECTION_COVERED',
      0,
      newest.slice(0, 1),
    ])
    assert.deepEqual(await planOf({ who: { $in: ['a', 'b'] } }), [
      'PROJECTION_COVERED',
      0,
      [...newest, { at: time, n: 3 }],
    ])
    assert.deepEqual(await planOf({ who: 'c' }), ['PROJECTION_COVERED', 1, [{ at: time }]])
    const renamed = { _id: 0, t: '$at', v: '$n' }
    const newestRenamed = newest.map((one) => ({ t: one.at, v: one.n }))
    assert.deepEqual(await planOf({ who: 'a' }, renamed), ['PROJECTION_COVERED', 0, newestRenamed])
    assert.deepEqual(await planOf({ who: 'c' }, renamed), ['PROJECTION_COVERED', 1, [{ t: time }]])
    assert.deepEqual((await planOf({ who: 'a' }, { _id: 0, v: '$n', t: '$at' }))[0], 'FETCH')
    assert.deepEqual((await planOf({ who: 'a' }, { _id: 0, t: { $toLong: '$at' } }))[0], 'FETCH')
    assert.deepEqual((await planOf({ who: 'a' }, { _id: 0, name: 1 }))[0], 'FETCH')
    assert.deepEqual((await planOf({ who: 'a' }, { at: 1 }))[0], 'FETCH')
    await things.insertOne({ who: 'a', at: time, n: new Double(7) })
    await engine.restart()
    things = engine.db.collection('things')
    const exact = await things.find({ who: 'a', n: 7 }, { projection, promoteValues: false }).toArray()
    assert.deepEqual([(await planOf({ who: 'a' }))[0], exact[0]?.n], ['FETCH', new Double(7)])
  })

  for (const direction of [1, -1] as const)
    it(`return exact numbers and times in covered queries, in the order ${direction}`, async () => {
      await things.createIndex({ who: 1, n: direction, at: direction })
      const wholes = [0, 1, -1, 255, 65_536, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 53]
      const numbers = [...wholes, 0.1, -0.1, 1e300, -1e-300, 5e-324, Infinity, -Infinity]
      const documents = numbers
        .map((n, i) => ({ who: 'a', n, at: new Date(i % 2 ? i : -1e12 - i) }))
        .sort((a, b) => direction * (a.n - b.n))
      await things.insertMany(documents)
      const matches = things.find({ who: 'a' }, { projection: { _id: 0, who: 1, n: 1, at: 1 } })
      assert.equal((await matches.explain()).queryPlanner.winningPlan.stage, 'PROJECTION_COVERED')
      assert.deepEqual(
        await matches.toArray(),
        documents.map(({ who, n, at }) => ({ who, n, at })),
      )
    })

  it('answer covered queries with thousands of keys, from either end, in part, and within a transaction', async () => {
    await things.createIndex({ who: 1, n: 1 })
    const numbers = Array.from({ length: 3000 }, (_, n) => n)
    await things.insertMany(numbers.map((n) => ({ who: 'a', ...(n === 1500 ? { n: null } : { n }) })))
    const session = engine.client.startSession()
    const read = async (direction: 1 | -1, part: object = {}, within = false) => {
      const options = { projection: { _id: 0, v: '$n' }, sort: { n: direction }, ...part } as const
      const matches = things.find({ who: 'a' }, { ...options, ...(within && { session }) })
      return (await matches.toArray()).map(({ v }) => v)
    }
    const expected = [null, ...numbers.filter((n) => n !== 1500)]
    assert.deepEqual(await read(1), expected)
    assert.deepEqual(await read(-1), expected.toReversed())
    assert.deepEqual(await read(1, { skip: 1100, limit: 1100, batchSize: 700 }), expected.slice(1100, 2200))
    assert.deepEqual(await read(1, { limit: 3 }), expected.slice(0, 3))
    session.startTransaction()
    await things.deleteOne({ n: 7 }, { session })
    await things.insertOne({ who: 'a', n: 2999.5 }, { session })
    const changed = [...expected.filter((n) => n !== 7), 2999.5]
    assert.deepEqual(await read(1, {}, true), changed)
    assert.deepEqual(await read(-1, {}, true), changed.toReversed())
    assert.deepEqual(await read(1), expected)
    await session.abortTransaction()
    await session.endSession()
  })

  it('respect equality, uniqueness and order if case-insensitive', async () => {
    const collation = { locale: 'en', strength: 2 }
    await things.createIndex({ name: 1 }, { unique: true, collation, name: 'ci' })
    await things.createIndex({ name: 1 })
    await things.insertMany([{ name: 'Anna' }, { name: 'bob' }, { name: 'Änne' }])
    await assert.rejects(things.insertOne({ name: 'ANNA' }), {
      code: 11000,
      message: /index: ci collation: \{ locale: "en", .*strength: 2, .* dup key/,
    })
    assert.deepEqual(await plan({ name: 'BOB' }, { collation }), ['ci', 1])
    assert.deepEqual(await plan({ name: 'bob' }), ['name_1', 1])
    assert.equal(await things.countDocuments({ name: 'BOB' }), 0)
    assert.equal(await things.countDocuments({ name: { $in: ['BOB', 'aNNA'] } }, { collation }), 2)
    const sorted = await things
      .find()
      .collation(collation)
      .sort({ name: -1 })
      .map(({ name }) => name)
      .toArray()
    assert.deepEqual(sorted, ['bob', 'Änne', 'Anna'])
    assert.equal(
      (await things.updateOne({ name: 'ANNA' }, { $set: { seen: 1 } }, { collation })).modifiedCount,
      1,
    )
    assert.deepEqual(await things.distinct('name', {}, { collation }), ['Anna', 'Änne', 'bob'])
  })

  it('remove only expired documents by their TTL', async () => {
    await engine.client.db('admin').command({ setParameter: 1, ttlMonitorSleepSecs: 1 })
    await things.createIndex({ at: 1 }, { expireAfterSeconds: 1 })
    await things.createIndex({ until: 1 }, { expireAfterSeconds: 0 })
    const partialFilterExpression = { done: true }
    await things.createIndex({ end: 1 }, { expireAfterSeconds: 0, partialFilterExpression })
    await things.insertMany([
      { _id: 'old' as never, at: new Date(Date.now() - 60_000) },
      { _id: 'over' as never, until: new Date(Date.now() - 10) },
      { _id: 'array' as never, at: [new Date(), new Date(0)] },
      { _id: 'done' as never, end: new Date(0), done: true },
      { _id: 'pending' as never, end: new Date(0) },
      { _id: 'later' as never, until: new Date(Date.now() + 60_000) },
      { _id: 'text' as never, at: '1970-01-01' },
      { _id: 'none' as never },
    ])
    const left = async () => (await things.find().toArray()).map(({ _id }) => String(_id))
    for (let i = 0; i < 300 && (await left()).length > 4; i++) await sleep(100)
    assert.deepEqual(await left(), ['pending', 'later', 'text', 'none'])
    assert.equal(await things.countDocuments(), 4)
  })

  it('accept the same specification again without a change', async () => {
    const create = () =>
      engine.db.command({ createIndexes: 'things', indexes: [{ key: { a: 1 }, name: 'a_1', unique: true }] })
    assert.equal((await create()).numIndexesAfter, 2)
    assert.equal((await create()).note, 'all indexes already exist')
  })

  it('accept keys longer than lmdb allows', async () => {
    await things.createIndex({ text: 1 }, { unique: true })
    const long = 'x'.repeat(5000)
    await things.insertMany([{ text: `${long}b` }, { text: `${long}a` }, { text: long }, { text: 'short' }])
    await assert.rejects(things.insertOne({ text: `${long}a` }), { code: 11000 })
    assert.deepEqual(await plan({ text: `${long}a` }), ['text_1', 3])
    assert.equal(await things.countDocuments({ text: { $gt: long } }), 2)
    const sorted = await things.find().sort({ text: 1 }).toArray()
    assert.deepEqual(
      sorted.map(({ text }) => text.slice(-1)),
      ['t', 'x', 'a', 'b'],
    )
    await engine.restart()
    things = engine.db.collection('things')
    assert.equal(await things.countDocuments({ text: `${long}b` }), 1)
    assert.equal((await things.find().sort({ text: 1 }).toArray())[2]?.text, `${long}a`)
  })

  it('keep their flags after a restart', async () => {
    await things.createIndex({ v: 1 })
    await things.createIndex({ u: 1 }, { unique: true, sparse: true })
    // The first documents with an array, in a transaction that is aborted.
    const session = engine.client.startSession()
    session.startTransaction()
    await things.insertOne({ v: [7, 8] }, { session })
    await session.abortTransaction()
    await session.endSession()
    await things.insertOne({ _id: 4 as never, u: 1 })
    await assert.rejects(things.insertOne({ v: [9], u: 1 }), { code: 11000 })
    await things.insertMany([
      { _id: 1 as never, v: [1, 20] },
      { _id: 2 as never, v: 5 },
      { _id: 3 as never, v: new Binary(Buffer.from('a')) },
    ])
    await engine.restart()
    things = engine.db.collection('things')
    assert.deepEqual(
      (await things.find({ v: { $gt: 8, $lt: 4 } }).toArray()).map(({ _id }) => _id),
      [1],
    )
    assert.deepEqual(await plan({ v: 5 }), ['v_1', 1])
  })

  it('can be dropped one by one or together', async () => {
    await things.createIndexes([{ key: { a: 1 } }, { key: { b: 1 } }, { key: { c: 1 } }])
    await things.dropIndex('a_1')
    assert.deepEqual(
      (await things.indexes()).map(({ name }) => name),
      ['_id_', 'b_1', 'c_1'],
    )
    await things.dropIndexes()
    assert.deepEqual(
      (await things.indexes()).map(({ name }) => name),
      ['_id_'],
    )
    await assert.rejects(things.dropIndex('_id_'), { code: 72 })
  })
})
