import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AggregationCursor, ClientSession, Collection, FindCursor } from 'mongodb'
import { engineOfBlock, manyThings } from '../../testing.ts'

const many = 40_000
const idOf = (i: number) => i as never

describe('index builds', function suite() {
  this.timeout(60_000)
  const engine = engineOfBlock()
  let things: Collection

  describe('of a unique index during a transaction', () => {
    let session: ClientSession
    beforeEach(async () => {
      things = await manyThings(engine, many)
      session = engine.client.startSession()
    })
    afterEach(() => session.endSession())

    /** Runs the transaction after the build has begun, and commits it when the build has had the time to end. */
    const buildBeside = async (work: () => Promise<unknown>): Promise<void> => {
      const build = things.createIndex({ i: 1 }, { unique: true })
      while ((await things.indexes()).length < 2) await sleep(1)
      await session.withTransaction(async () => {
        await work()
        await Promise.race([build, sleep(1500)])
      })
      await build
    }

    it('release the key of a document that it deletes', async () => {
      await buildBeside(() => things.deleteOne({ _id: idOf(many - 1) }, { session }))
      await things.insertOne({ _id: idOf(many), i: many - 1 })
      assert.equal(await things.countDocuments({ i: many - 1 }), 1)
    })

    it('release the key of a document that it changes', async () => {
      const change = { $set: { i: many } }
      await buildBeside(() => things.updateOne({ _id: idOf(many - 1) }, change, { session }))
      await things.insertOne({ _id: idOf(many), i: many - 1 })
      await assert.rejects(things.insertOne({ i: many }), { code: 11000 })
    })
  })

  it('hide an index from queries until its entries are on disk', async () => {
    things = await manyThings(engine, 100)
    for (let round = 0; round < 20; round++) {
      let isBuilding = true
      const build = things.createIndex({ i: 1 }).finally(() => {
        isBuilding = false
      })
      while (isBuilding) assert.equal((await things.find({ i: 7 }).toArray()).length, 1)
      await build
      await things.dropIndex('i_1')
    }
  })

  it('hide an index from transactions whose snapshot is older', async () => {
    things = await manyThings(engine, 100)
    for (let round = 0; round < 20; round++) {
      let isBuilding = true
      const build = things.createIndex({ i: 1 }).finally(() => {
        isBuilding = false
      })
      while (isBuilding)
        await engine.client.withSession((session) =>
          session.withTransaction(async () => {
            assert.ok(await things.findOne({ _id: idOf(1) }, { session }))
            await sleep(5)
            assert.equal((await things.find({ i: 7 }, { session }).toArray()).length, 1)
          }),
        )
      await build
      await things.dropIndex('i_1')
    }
  })

  describe('end with 175 on an index that is dropped', () => {
    const readers: Record<string, () => FindCursor | AggregationCursor> = {
      'a find': () => things.find({ i: { $gte: 0 } }, { batchSize: 10 }),
      'a find that sorts by it': () => things.find({}, { batchSize: 10, sort: { i: 1 } }),
      'a find by one of two indexes': () =>
        things.find({ $or: [{ i: { $gte: 0 } }, { _id: idOf(5) }] }, { batchSize: 10 }),
      'a covered find': () =>
        things.find({ i: { $gte: 0 } }, { batchSize: 10, projection: { _id: 0, i: 1 } }),
      'a pipeline': () => things.aggregate([{ $match: { i: { $gte: 0 } } }], { batchSize: 10 }),
      'a pipeline that computes': () =>
        things.aggregate([{ $match: { i: { $gte: 0 } } }, { $set: { a: 1 } }], { batchSize: 10 }),
    }
    for (const [name, open] of Object.entries(readers))
      it(name, async () => {
        things = await manyThings(engine, 20_000)
        await things.createIndex({ i: 1 })
        const cursor = open()
        assert.ok(await cursor.next())
        await things.dropIndex('i_1')
        await assert.rejects(cursor.toArray(), { code: 175, codeName: 'QueryPlanKilled' })
      })
  })

  it('refuse a rename of the collection', async () => {
    things = await manyThings(engine, many)
    const build = things.createIndex({ i: 1 })
    while ((await things.indexes()).length < 2) await sleep(1)
    await assert.rejects(things.rename('others'), { code: 12587 })
    await build
    await things.rename('others')
    assert.equal(await engine.db.collection('others').countDocuments({ i: 7 }, { hint: 'i_1' }), 1)
  })

  it('drop a database that another client drops', async () => {
    for (let round = 0; round < 10; round++) {
      for (const name of 'abcd') await engine.db.createCollection(name)
      await Promise.all([engine.db.dropDatabase(), engine.db.dropDatabase()])
      assert.deepEqual(await engine.db.listCollections().toArray(), [])
    }
  })

  describe('take their turn during a steady flow of transactions', () => {
    const definitions: Record<string, () => Promise<unknown>> = {
      createIndex: () => things.createIndex({ i: 1 }),
      'createIndex, unique': () => things.createIndex({ i: 1 }, { unique: true }),
      dropIndex: () => things.dropIndex('group_1'),
      rename: () => things.rename('others'),
      'rename onto it': () => engine.db.collection('source').rename('things', { dropTarget: true }),
      drop: () => things.drop(),
    }
    for (const [name, define] of Object.entries(definitions))
      it(name, async () => {
        things = await manyThings(engine, 1000)
        await things.createIndex({ group: 1 })
        await engine.db.createCollection('source')
        let isOver = false
        const write = async (id: number): Promise<void> => {
          while (!isOver)
            await engine.client.withSession((session) =>
              session.withTransaction(async () => {
                await things.updateOne({ _id: idOf(id) }, { $inc: { n: 1 } }, { session })
                await sleep(100)
              }),
            )
        }
        const flow: Promise<void>[] = []
        for (let id = 0; id < 10; id++) {
          flow.push(write(id))
          await sleep(10)
        }
        const timeout = Symbol('late')
        const outcome = await Promise.race([define().then(() => 'done'), sleep(4000).then(() => timeout)])
        isOver = true
        await Promise.all(flow)
        assert.notEqual(outcome, timeout, 'it waits for transactions that began after it')
      })
  })
})
