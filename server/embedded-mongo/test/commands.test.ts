import assert from 'node:assert/strict'
import { type Collection, type Document, Long, UUID } from 'mongodb'
import { type Engine, startEngine } from './engine.ts'

describe('commands', () => {
  let engine: Engine
  let things: Collection
  const run = (command: Document) => engine.db.command(command)

  before(async () => {
    engine = await startEngine()
  })
  after(() => engine.stop())
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
    await things.insertMany([
      { _id: 1 as never, name: 'a', n: 3, tags: ['x', 'y'] },
      { _id: 2 as never, name: 'b', n: 1, tags: ['y'] },
      { _id: 3 as never, name: 'c', n: 2 },
    ])
  })

  describe('about the server', () => {
    for (const name of ['hello', 'isMaster', 'ismaster'])
      it(`${name} reports a standalone of wire version 21`, async () => {
        const reply = await run({ [name]: 1 })
        assert.equal(reply.maxWireVersion, 21)
        assert.equal(reply.setName, undefined)
        assert.equal(reply.msg, undefined)
        assert.equal(reply.logicalSessionTimeoutMinutes, 30)
      })

    it('buildInfo reports 7.0.x', async () => {
      assert.match((await run({ buildInfo: 1 })).version, /^7\.0\.\d+$/)
    })

    it('ping, serverStatus, connectionStatus', async () => {
      assert.equal((await run({ ping: 1 })).ok, 1)
      assert.ok((await run({ serverStatus: 1 })).connections.current > 0)
      assert.deepEqual((await run({ connectionStatus: 1 })).authInfo.authenticatedUsers, [])
    })

    it('getParameter gives what is known', async () => {
      const reply = await run({ getParameter: 1, featureCompatibilityVersion: 1 })
      assert.deepEqual(reply.featureCompatibilityVersion, { version: '7.0' })
    })
  })

  describe('collections', () => {
    it('create, listCollections with a filter, drop', async () => {
      await run({ create: 'made' })
      const [info] = await engine.db.listCollections({ name: 'made' }).toArray()
      assert.ok(info && 'info' in info && info.info?.uuid instanceof UUID)
      assert.deepEqual(await engine.db.listCollections({}, { nameOnly: true }).toArray(), [
        { name: 'things', type: 'collection' },
        { name: 'made', type: 'collection' },
      ])
      assert.equal((await run({ drop: 'made' })).ok, 1)
      assert.deepEqual(await engine.db.listCollections({ name: 'made' }).toArray(), [])
    })

    it('a dropped collection that comes again is empty', async () => {
      await things.drop()
      await things.insertOne({ _id: 9 as never })
      assert.deepEqual(await things.find().toArray(), [{ _id: 9 }])
      assert.equal(await things.countDocuments(), 1)
    })

    it('renameCollection keeps documents and indexes', async () => {
      await things.createIndex({ name: 1 }, { unique: true })
      await things.rename('renamed')
      const renamed = engine.db.collection('renamed')
      assert.equal(await renamed.countDocuments({ name: 'b' }), 1)
      await assert.rejects(renamed.insertOne({ name: 'b' }), {
        code: 11000,
        message: /test\.renamed index: name_1/,
      })
      await engine.db.collection('other').insertOne({})
      await assert.rejects(renamed.rename('other'), { code: 48 })
      await renamed.rename('other', { dropTarget: true })
      assert.equal(await engine.db.collection('other').countDocuments(), 3)
    })

    it('dropDatabase and listDatabases', async () => {
      const other = engine.client.db('other')
      await other.collection('c').insertOne({})
      const names = async () =>
        (await engine.db.admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name)
      assert.deepEqual(await names(), ['other', 'test'])
      await other.dropDatabase()
      assert.deepEqual(await names(), ['test'])
    })

    it('collMod hides an index and changes a time to live', async () => {
      await things.createIndex({ at: 1 }, { name: 'at_1', expireAfterSeconds: 100 })
      await run({ collMod: 'things', index: { name: 'at_1', expireAfterSeconds: 200, hidden: true } })
      const index = (await things.indexes()).find(({ name }) => name === 'at_1')
      assert.deepEqual([index?.expireAfterSeconds, index?.hidden], [200, true])
    })
  })

  describe('insert', () => {
    it('makes an _id and puts it first', async () => {
      const { insertedId } = await things.insertOne({ name: 'd' })
      assert.deepEqual(await things.findOne({ _id: insertedId }), { _id: insertedId, name: 'd' })
      await run({ insert: 'things', documents: [{ name: 'e', _id: 5 }] })
      assert.deepEqual(Object.keys((await things.findOne({ name: 'e' })) ?? {}), ['_id', 'name'])
    })

    it('ordered stops at the first failure, unordered goes on', async () => {
      const documents = [{ _id: 10 }, { _id: 1 }, { _id: 11 }, { _id: 2 }]
      const ordered = await run({ insert: 'things', documents, ordered: true })
      assert.equal(ordered.n, 1)
      assert.deepEqual(
        ordered.writeErrors.map(({ index, code }: Document) => [index, code]),
        [[1, 11000]],
      )
      await things.deleteOne({ _id: 10 as never })
      const unordered = await run({ insert: 'things', documents, ordered: false })
      assert.equal(unordered.n, 2)
      assert.deepEqual(
        unordered.writeErrors.map(({ index }: Document) => index),
        [1, 3],
      )
      assert.equal(await things.countDocuments(), 5)
    })

    it('takes 16 MB and refuses more', async () => {
      await things.insertOne({ _id: 20 as never, text: 'x'.repeat(15_000_000) })
      assert.equal((await things.findOne({ _id: 20 as never }))?.text.length, 15_000_000)
      const reply = await run({ insert: 'things', documents: [{ _id: 21, text: 'x'.repeat(17_000_000) }] })
      assert.equal(reply.writeErrors[0].code, 10334)
    })
  })

  describe('update', () => {
    it('one, many, and counts what really changed', async () => {
      const one = await things.updateOne({ n: { $gt: 0 } }, { $set: { seen: true } })
      assert.deepEqual([one.matchedCount, one.modifiedCount], [1, 1])
      const many = await things.updateMany({}, { $set: { seen: true } })
      assert.deepEqual([many.matchedCount, many.modifiedCount], [3, 2])
    })

    it('upserts from the filter and $setOnInsert', async () => {
      const update = { $set: { n: 1 }, $setOnInsert: { made: true } }
      const first = await things.updateOne(
        { name: 'new', 'at.place': { $eq: 'here' }, n: { $gt: 5 } },
        update,
        { upsert: true },
      )
      assert.equal(first.upsertedCount, 1)
      const { _id, ...rest } = (await things.findOne({ name: 'new' })) as Document
      assert.deepEqual(rest, { name: 'new', at: { place: 'here' }, n: 1, made: true })
      await things.updateOne(
        { name: 'new' },
        { $setOnInsert: { made: false }, $inc: { n: 1 } },
        { upsert: true },
      )
      assert.deepEqual(await things.findOne({ name: 'new' }), { _id, ...rest, n: 2 })
      const reply = await run({
        update: 'things',
        updates: [{ q: { _id: 7 }, u: { $set: { a: 1 } }, upsert: true }],
      })
      assert.deepEqual(reply.upserted, [{ index: 0, _id: 7 }])
    })

    it('replaces, keeping the _id', async () => {
      await things.replaceOne({ name: 'a' }, { only: 1 })
      assert.deepEqual(await things.findOne({ _id: 1 as never }), { _id: 1, only: 1 })
    })

    it('runs a pipeline', async () => {
      await things.updateMany({}, [{ $set: { twice: { $multiply: ['$n', 2] } } }, { $unset: 'tags' }])
      assert.deepEqual(await things.findOne({ _id: 1 as never }), { _id: 1, name: 'a', n: 3, twice: 6 })
    })

    it('takes array filters and positions', async () => {
      await things.insertOne({
        _id: 4 as never,
        list: [
          { k: 1, v: 1 },
          { k: 2, v: 2 },
          { k: 3, v: 3 },
        ],
      })
      await things.updateOne({ _id: 4 as never, 'list.k': 2 }, { $set: { 'list.$.v': 20 } })
      await things.updateOne(
        { _id: 4 as never },
        { $inc: { 'list.$[big].v': 100 } },
        { arrayFilters: [{ 'big.k': { $gte: 2 } }] },
      )
      await things.updateOne({ _id: 4 as never }, { $set: { 'list.$[].w': 0 } })
      assert.deepEqual((await things.findOne({ _id: 4 as never }))?.list, [
        { k: 1, v: 1, w: 0 },
        { k: 2, v: 120, w: 0 },
        { k: 3, v: 103, w: 0 },
      ])
    })
  })

  it('delete takes one or all', async () => {
    assert.equal((await things.deleteOne({ n: { $gte: 2 } })).deletedCount, 1)
    assert.equal((await things.deleteMany({})).deletedCount, 2)
    assert.equal(await things.countDocuments(), 0)
  })

  describe('findAndModify', () => {
    it('gives the document before or after, sorted and projected', async () => {
      const before = await things.findOneAndUpdate(
        {},
        { $inc: { n: 10 } },
        { sort: { n: 1 }, projection: { n: 1 } },
      )
      assert.deepEqual(before, { _id: 2, n: 1 })
      const after = await things.findOneAndUpdate(
        { _id: 2 as never },
        { $inc: { n: 10 } },
        { returnDocument: 'after' },
      )
      assert.equal(after?.n, 21)
    })

    it('removes, replaces, upserts and finds nothing', async () => {
      assert.equal((await things.findOneAndDelete({ name: 'a' }))?.name, 'a')
      assert.equal(
        (await things.findOneAndReplace({ name: 'b' }, { name: 'B' }, { returnDocument: 'after' }))?.name,
        'B',
      )
      const reply = await run({
        findAndModify: 'things',
        query: { _id: 8 },
        update: { $set: { a: 1 } },
        upsert: true,
        new: true,
      })
      assert.deepEqual(reply.lastErrorObject, { n: 1, updatedExisting: false, upserted: 8 })
      assert.deepEqual(reply.value, { _id: 8, a: 1 })
      assert.equal(await things.findOneAndUpdate({ _id: 99 as never }, { $set: { a: 1 } }), null)
    })
  })

  describe('find', () => {
    const ids = async (filter: Document, options: Document = {}) =>
      (await things.find(filter, options).toArray()).map(({ _id }) => _id)

    it('filter, sort, skip, limit', async () => {
      assert.deepEqual(await ids({}, { sort: { n: 1 } }), [2, 3, 1])
      assert.deepEqual(await ids({}, { sort: { n: -1 }, skip: 1, limit: 1 }), [3])
      assert.deepEqual(await ids({ tags: 'y' }), [1, 2])
    })

    it('projections of every kind', async () => {
      const one = async (projection: Document, filter: Document = { _id: 1 }) =>
        things.findOne(filter, { projection })
      await things.insertOne({ _id: 4 as never, a: { b: 1, c: 2 }, list: [{ k: 1 }, { k: 2 }, { k: 3 }] })
      assert.deepEqual(await one({ name: 1 }), { _id: 1, name: 'a' })
      assert.deepEqual(await one({ name: 1, _id: 0 }), { name: 'a' })
      assert.deepEqual(await one({ tags: 0, n: 0 }), { _id: 1, name: 'a' })
      assert.deepEqual(await one({ _id: 0 }), { name: 'a', n: 3, tags: ['x', 'y'] })
      assert.deepEqual(await one({ 'a.b': 1 }, { _id: 4 }), { _id: 4, a: { b: 1 } })
      assert.deepEqual(await one({ 'a.b': 0, list: 0 }, { _id: 4 }), { _id: 4, a: { c: 2 } })
      assert.deepEqual(await one({ 'list.k': 1 }, { _id: 4 }), {
        _id: 4,
        list: [{ k: 1 }, { k: 2 }, { k: 3 }],
      })
      assert.deepEqual(await one({ list: { $slice: -1 }, a: 0 }, { _id: 4 }), { _id: 4, list: [{ k: 3 }] })
      assert.deepEqual(await one({ list: { $elemMatch: { k: { $gt: 1 } } } }, { _id: 4 }), {
        _id: 4,
        list: [{ k: 2 }],
      })
      assert.deepEqual(await one({ 'list.$': 1 }, { _id: 4, 'list.k': 3 }), { _id: 4, list: [{ k: 3 }] })
      assert.deepEqual(await one({ double: { $multiply: ['$n', 2] } }), { _id: 1, double: 6 })
      await assert.rejects(one({ name: 1, n: 0 }), { code: 31254 })
    })

    it('honours hints by name and key, and refuses one that is no index', async () => {
      await things.createIndex({ n: 1 }, { name: 'by_n' })
      assert.deepEqual(await ids({}, { hint: 'by_n' }), [2, 3, 1])
      assert.deepEqual(await ids({}, { hint: { n: 1 } }), [2, 3, 1])
      assert.deepEqual(await ids({}, { hint: { $natural: -1 } }), [3, 2, 1])
      await assert.rejects(ids({}, { hint: 'nope' }), { code: 2 })
    })
  })

  it('options without effect here do not disturb', async () => {
    const harmless = {
      $readPreference: { mode: 'secondaryPreferred' },
      comment: { why: 'test' },
      maxTimeMS: 60_000,
      lsid: { id: new UUID().toBinary() },
      readConcern: { level: 'majority' },
      let: { x: 1 },
    }
    const reply = await run({
      find: 'things',
      filter: { $expr: { $eq: ['$n', '$$x'] } },
      ...harmless,
      noCursorTimeout: true,
    })
    assert.deepEqual(
      reply.cursor.firstBatch.map(({ _id }: Document) => _id),
      [2],
    )
    const write = {
      ...harmless,
      readConcern: undefined,
      writeConcern: { w: 'majority', j: true, wtimeout: 100 },
    }
    assert.equal((await run({ insert: 'things', documents: [{}], ...write })).n, 1)
    assert.equal((await run({ count: 'things', query: {}, ...harmless, let: undefined })).n, 4)
  })

  it('count and distinct', async () => {
    assert.equal(await things.estimatedDocumentCount(), 3)
    assert.equal(await things.countDocuments({ n: { $gt: 1 } }), 2)
    assert.equal(await things.countDocuments({}, { skip: 1, limit: 1 }), 1)
    assert.deepEqual(await things.distinct('tags'), ['x', 'y'])
    assert.deepEqual(await things.distinct('n', { n: { $lt: 3 } }), [1, 2])
    assert.deepEqual(await engine.db.collection('nothing').distinct('a'), [])
  })

  it('aggregate: stages, joins, facets', async () => {
    await engine.db.collection('owners').insertMany([
      { _id: 'a' as never, age: 1 },
      { _id: 'b' as never, age: 2 },
    ])
    const result = await things
      .aggregate([
        { $match: { n: { $lt: 3 } } },
        { $sort: { n: 1 } },
        { $lookup: { from: 'owners', localField: 'name', foreignField: '_id', as: 'owner' } },
        { $project: { age: { $arrayElemAt: ['$owner.age', 0] } } },
      ])
      .toArray()
    assert.deepEqual(result, [{ _id: 2, age: 2 }, { _id: 3 }])
    const [sums] = await things
      .aggregate([{ $group: { _id: null, total: { $sum: '$n' }, mean: { $avg: '$n' } } }])
      .toArray()
    assert.deepEqual(sums, { _id: null, total: 6, mean: 2 })
    const [facet] = await things
      .aggregate([{ $facet: { some: [{ $match: { n: 1 } }], all: [{ $count: 'n' }] } }])
      .toArray()
    assert.deepEqual([facet?.some.length, facet?.all], [1, [{ n: 3 }]])
    assert.deepEqual(await things.aggregate([{ $unwind: '$tags' }, { $sortByCount: '$tags' }]).toArray(), [
      { _id: 'y', count: 2 },
      { _id: 'x', count: 1 },
    ])
  })

  it('explain tells the index, or that there is none', async () => {
    await things.createIndex({ name: 1 })
    const indexed = await things.find({ name: 'b' }).explain()
    assert.equal(indexed.queryPlanner.winningPlan.inputStage.stage, 'IXSCAN')
    assert.equal(indexed.queryPlanner.winningPlan.inputStage.indexName, 'name_1')
    assert.deepEqual(
      [indexed.executionStats.totalKeysExamined, indexed.executionStats.totalDocsExamined],
      [1, 1],
    )
    const scanned = await things.find({ n: 1 }).explain()
    assert.equal(scanned.queryPlanner.winningPlan.stage, 'COLLSCAN')
    assert.equal(scanned.executionStats.totalDocsExamined, 3)
    const piped = await things.aggregate([{ $match: { name: 'b' } }]).explain()
    assert.equal(piped.queryPlanner.winningPlan.inputStage.indexName, 'name_1')
  })

  it('a write that is sent again under its number is not done again', async () => {
    const lsid = { id: new UUID().toBinary() }
    const command = { insert: 'things', documents: [{ name: 'once' }], lsid, txnNumber: Long.fromNumber(1) }
    assert.deepEqual([(await run(command)).n, (await run(command)).n], [1, 1])
    assert.equal(await things.countDocuments({ name: 'once' }), 1)
  })
})
