import assert from 'node:assert/strict'
import { type Collection, Decimal128, type Document, Timestamp, UUID } from 'mongodb'
import { engineOfBlock, socketPathOf, threeThings } from '../../testing.ts'

describe('commands', () => {
  const engine = engineOfBlock()
  let things: Collection
  const run = (command: Document) => engine.db.command(command)
  beforeEach(async () => {
    things = await threeThings(engine)
  })

  describe('about the server', () => {
    for (const name of ['hello', 'isMaster', 'ismaster'])
      it(`${name} reports the primary of a replica set of one, of wire version 21`, async () => {
        const reply = await run({ [name]: 1 })
        assert.equal(reply.maxWireVersion, 21)
        assert.equal(reply.setName, 'embedded')
        assert.deepEqual(reply.hosts, [socketPathOf(engine.uri)])
        assert.equal(reply.msg, undefined)
        assert.equal(reply.logicalSessionTimeoutMinutes, 30)
      })

    it('buildInfo reports 7.0.x', async () => {
      assert.match((await run({ buildInfo: 1 })).version, /^7\.0\.\d+$/)
    })

    it('answers ping, serverStatus, connectionStatus and getCmdLineOpts', async () => {
      assert.ok((await run({ getCmdLineOpts: 1 })).argv.includes('--data'))
      assert.equal((await run({ ping: 1 })).ok, 1)
      assert.ok((await run({ serverStatus: 1 })).connections.current > 0)
      assert.deepEqual((await run({ connectionStatus: 1 })).authInfo.authenticatedUsers, [])
    })

    it('returns the known parameters from getParameter', async () => {
      const reply = await run({ getParameter: 1, featureCompatibilityVersion: 1 })
      assert.deepEqual(reply.featureCompatibilityVersion, { version: '7.0' })
      assert.equal((await run({ getParameter: '*' })).enableTestCommands, false)
    })
  })

  describe('collections', () => {
    it('creates, lists with a filter, and drops', async () => {
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

    it('starts empty after drop and create', async () => {
      await things.drop()
      await things.insertOne({ _id: 9 as never })
      assert.deepEqual(await things.find().toArray(), [{ _id: 9 }])
      assert.equal(await things.countDocuments(), 1)
    })

    it('keeps documents and indexes after renameCollection', async () => {
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

    it('drops and lists databases', async () => {
      const other = engine.client.db('other')
      await other.collection('c').insertOne({})
      const names = async () =>
        (await engine.db.admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name)
      assert.deepEqual(await names(), ['admin', 'config', 'local', 'other', 'test'])
      await other.dropDatabase()
      assert.deepEqual(await names(), ['admin', 'config', 'local', 'test'])
    })
  })

  describe('find', () => {
    const ids = async (filter: Document, options: Document = {}) =>
      (await things.find(filter, options).toArray()).map(({ _id }) => _id)

    it('filters, sorts, skips and limits', async () => {
      assert.deepEqual(await ids({}, { sort: { n: 1 } }), [2, 3, 1])
      assert.deepEqual(await ids({}, { sort: { n: -1 }, skip: 1, limit: 1 }), [3])
      assert.deepEqual(await ids({ tags: 'y' }), [1, 2])
    })

    it('projects in every way', async () => {
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

    it('uses hints by name and key, and refuses a hint that names no index', async () => {
      await things.createIndex({ n: 1 }, { name: 'by_n' })
      assert.deepEqual(await ids({}, { hint: 'by_n' }), [2, 3, 1])
      assert.deepEqual(await ids({}, { hint: { n: 1 } }), [2, 3, 1])
      assert.deepEqual(await ids({}, { hint: { $natural: -1 } }), [3, 2, 1])
      await assert.rejects(ids({}, { hint: 'nope' }), { code: 2 })
    })

    it('refuses a key that several indexes have, but uses the index that queries can use', async () => {
      await things.createIndex({ n: 1 }, { name: 'by_n' })
      await things.createIndex({ n: 1 }, { name: 'some_n', partialFilterExpression: { n: { $gt: 1 } } })
      const unwind = [{ $unwind: '$tags' }, { $match: { tags: 'x' } }]
      await assert.rejects(ids({}, { hint: { n: 1 } }), { code: 27, codeName: 'IndexNotFound' })
      await assert.rejects(things.aggregate(unwind, { hint: { n: 1 } }).toArray(), { code: 27 })
      await assert.rejects(things.updateMany({}, { $set: { m: 1 } }, { hint: { n: 1 } }), { code: 27 })
      const hide = (index: object) =>
        things.db.command({ collMod: things.collectionName, index: { ...index, hidden: true } })
      await assert.rejects(hide({ keyPattern: { n: 1 } }), {
        code: 181,
        codeName: 'AmbiguousIndexKeyPattern',
      })
      await hide({ name: 'some_n' })
      assert.deepEqual(await ids({}, { hint: { n: 1 } }), [2, 3, 1])
    })
  })

  it('accepts options that have no effect here', async () => {
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

  it('counts and lists distinct values', async () => {
    assert.equal(await things.estimatedDocumentCount(), 3)
    assert.equal(await things.countDocuments({ n: { $gt: 1 } }), 2)
    assert.equal(await things.countDocuments({}, { skip: 1, limit: 1 }), 1)
    assert.deepEqual(await things.distinct('tags'), ['x', 'y'])
    assert.deepEqual(await things.distinct('n', { n: { $lt: 3 } }), [1, 2])
    assert.deepEqual(await engine.db.collection('nothing').distinct('a'), [])
    await engine.db.collection('large').insertMany([1, 2].map((n) => ({ n, text: `${n}`.repeat(9_000_000) })))
    await assert.rejects(engine.db.collection('large').distinct('text'), { code: 17217 })
    assert.equal((await engine.db.collection('large').distinct('text', { n: 1 })).length, 1)
    assert.equal((await run({ count: 'things', skip: Decimal128.fromString('1.5') })).n, 1)
    assert.equal((await run({ count: 'things', skip: Decimal128.fromString('0.5') })).n, 3)
  })

  it('sets zero timestamps to the current time, except in the _id and in nested fields', async () => {
    const zero = Timestamp.fromBits(0, 0)
    await engine.db.collection('times').insertOne({ _id: zero as never, at: zero, in: { at: zero } })
    const stored = await engine.db.collection('times').findOne()
    assert.deepEqual([stored?._id, stored?.in.at], [zero, zero])
    assert.ok(Math.abs(stored?.at.getHighBitsUnsigned() - Date.now() / 1000) < 60)
  })

  it('advances the cluster time with each command; NOW is constant within one', async () => {
    const time = async () =>
      await things.aggregate([{ $project: { t: '$$CLUSTER_TIME', n: '$$NOW' } }]).toArray()
    const first = await time()
    const second = await time()
    assert.equal(new Set(first.map(({ t, n }) => `${t} ${n.getTime()}`)).size, 1)
    assert.ok(second[0]?.t.greaterThan(first[0]?.t))
  })

  it('refuses a sort of more than 100 MB that may not use the disk', async () => {
    const large = engine.db.collection('large')
    const text = 'x'.repeat(4_000_000)
    for (let i = 0; i < 27; i++) await large.insertOne({ i, text })
    const sorted = (allowDiskUse: boolean) =>
      large.aggregate([{ $sort: { i: -1 } }, { $project: { i: 1 } }], { allowDiskUse }).toArray()
    assert.equal((await sorted(true)).length, 27)
    await assert.rejects(sorted(false), { code: 292 })
    await large.drop()
  })

  it('starts sessions, and kills them with their cursors', async () => {
    assert.equal((await run({ startSession: 1 })).timeoutMinutes, 30)
    const session = engine.client.startSession()
    const inIt = (command: Document) => engine.db.command(command, { session, promoteLongs: false })
    for (const kill of [{ killSessions: [session.id] }, { killAllSessions: [] }]) {
      const { cursor } = await inIt({ find: 'things', batchSize: 1 })
      await run(kill)
      await assert.rejects(inIt({ getMore: cursor.id, collection: 'things' }), { code: 43 })
    }
    await session.endSession()
  })

  it('runs aggregate with stages, joins and facets', async () => {
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
    assert.deepEqual(
      await things
        .aggregate([
          { $unwind: '$tags' },
          { $group: { _id: '$tags', count: { $sum: 1 } } },
          { $sort: { count: -1 } },
        ])
        .toArray(),
      [
        { _id: 'y', count: 2 },
        { _id: 'x', count: 1 },
      ],
    )
  })

  it('joins an array with $lookup by each element that has a match', async () => {
    const parts = engine.db.collection('parts')
    await parts.insertMany([{ _id: 1 as never }, { _id: 2 as never, r: [1, 9] }, { _id: 3 as never, r: [9] }])
    const joined = await parts
      .aggregate([{ $lookup: { from: 'parts', localField: 'r', foreignField: '_id', as: 'j' } }])
      .map(({ j }) => j)
      .toArray()
    assert.deepEqual(joined, [[], [{ _id: 1 }], []])
  })

  it("appends the results of another collection's pipeline with $unionWith, in their order", async () => {
    await engine.db.collection('numbers').insertMany([3, 1, 2, 5, 4].map((n) => ({ n })))
    const below = { $match: { $expr: { $lt: ['$n', '$$most'] } } }
    const second = [below, { $sort: { n: -1 } }, { $skip: 1 }, { $limit: 2 }, { $set: { from: 'numbers' } }]
    const united = await things
      .aggregate(
        [
          { $match: { n: 1 } },
          { $unionWith: { coll: 'numbers', pipeline: second } },
          { $unionWith: { coll: 'numbers', pipeline: [below, { $count: 'few' }] } },
          { $unionWith: 'nowhere' },
          { $project: { _id: 0, n: 1, from: 1, few: 1 } },
        ],
        { let: { most: 5 } },
      )
      .toArray()
    assert.deepEqual(united, [{ n: 1 }, { n: 3, from: 'numbers' }, { n: 2, from: 'numbers' }, { few: 4 }])
  })

  it('names the index in explain, or reports a scan', async () => {
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
})
