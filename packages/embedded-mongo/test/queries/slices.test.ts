import assert from 'node:assert/strict'
import type { Collection, Document } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

const many = 40_000

describe('long commands', function suite() {
  this.timeout(120_000)
  const engine = engineOfBlock()
  let things: Collection

  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
    const documents = Array.from({ length: many }, (_, i) => ({
      _id: i as never,
      i,
      group: i % 100,
      text: 'x',
    }))
    await things.insertMany(documents)
  })

  const long: [name: string, run: () => Promise<unknown>, check?: () => Promise<void>][] = [
    ['find', async () => assert.equal(await things.findOne({ text: 'y' }), null)],
    [
      'a find that sorts',
      async () => assert.equal((await things.find().sort({ group: 1, i: -1 }).next())?.i, many - 100),
    ],
    ['count', async () => assert.equal(await things.countDocuments({ text: 'x' }), many)],
    ['distinct', async () => assert.equal((await things.distinct('group')).length, 100)],
    ['findAndModify', () => things.findOneAndUpdate({ i: many - 1 }, { $set: { seen: true } })],
    ['updateMany', () => things.updateMany({}, { $set: { seen: true } })],
    ['deleteMany', () => things.deleteMany({ text: 'x' })],
    ['createIndexes', () => things.createIndex({ text: 1, i: 1 })],
  ]
  for (const [name, run] of long)
    it(`${name} lets others read meanwhile`, async () => {
      await engine.db.collection('other').insertOne({ _id: 1 as never })
      let running = true
      const done = run().finally(() => {
        running = false
      })
      let served = 0
      while (running) {
        await engine.db.collection('other').findOne({ _id: 1 as never })
        served++
      }
      await done
      assert.ok(served >= 5, `only ${served} reads were answered`)
    })

  it('what they do is whole', async () => {
    assert.equal((await things.updateMany({ i: { $gte: 0 } }, { $inc: { i: 1 } })).modifiedCount, many)
    await things.createIndex({ i: 1 })
    assert.equal(await things.countDocuments({ i: { $gt: 10, $lte: 20_000 } }), 19_990)
    assert.equal((await things.deleteMany({ text: 'x', i: { $gt: many / 2 } })).deletedCount, many / 2)
    assert.equal(await things.countDocuments({}), many / 2)
    assert.equal((await things.find({}, { hint: { i: 1 } }).toArray()).length, many / 2)
  })

  it('an index that is being built knows what is written meanwhile', async () => {
    const built = things.createIndex({ i: 1 }, { unique: true })
    await Promise.all([
      things.deleteOne({ _id: (many - 1) as never }),
      things.updateOne({ _id: 5 as never }, { $set: { i: -5 } }),
      things.insertOne({ i: many * 2 }),
    ])
    await built
    const found = await things.find({ i: { $gte: -10 } }, { hint: { i: 1 } }).toArray()
    assert.deepEqual([found.length, found[0]?.i, found.at(-1)?.i], [many, -5, many * 2])
    await assert.rejects(things.insertOne({ i: many * 2 }), { code: 11000 })
  })

  it('an index that cannot be built leaves nothing behind', async () => {
    await things.updateOne({ _id: (many - 1) as never }, { $set: { i: 0 } })
    await assert.rejects(things.createIndex({ i: 1 }, { unique: true }), { code: 11000 })
    assert.equal((await things.indexes()).length, 1)
    await things.insertOne({ i: 0 })
  })

  it('an index whose building was cut off by kill -9 is gone', async () => {
    const built = things.createIndex({ i: 1 }).catch(() => {})
    while ((await things.indexes()).length === 1) await new Promise(setImmediate)
    await engine.kill()
    await built
    await engine.restart()
    things = engine.db.collection('things')
    const names = (await things.indexes()).map(({ name }) => name)
    assert.ok(names.length === 1 || (await things.find({}, { hint: 'i_1' }).toArray()).length === many)
    await things.createIndex({ i: 1 })
    assert.equal((await things.find({ i: { $gte: 0 } }, { hint: 'i_1' }).toArray()).length, many)
  })

  const limited: Document[] = [
    { find: 'things', filter: { text: 'y' } },
    { find: 'things', sort: { text: 1, i: -1 } },
    { aggregate: 'things', pipeline: [{ $match: { text: 'y' } }], cursor: {} },
    { aggregate: 'things', pipeline: [{ $group: { _id: '$i' } }], cursor: {} },
    { count: 'things', query: { text: 'x' } },
    { distinct: 'things', key: 'text' },
    { update: 'things', updates: [{ q: {}, u: { $set: { a: 1 } }, multi: true }] },
    { delete: 'things', deletes: [{ q: { text: 'x' }, limit: 0 }] },
    { findAndModify: 'things', query: { text: 'y' }, remove: true },
    { createIndexes: 'things', indexes: [{ key: { i: 1 }, name: 'i' }] },
  ]
  for (const command of limited)
    it(`${JSON.stringify(command).slice(0, 60)} ends when its time is over`, async () => {
      const begun = performance.now()
      await assert.rejects(engine.db.command({ ...command, maxTimeMS: 3 }), { code: 50 })
      assert.ok(performance.now() - begun < 1000)
    })

  it('a cursor has its time for all its batches', async () => {
    const { cursor } = await engine.db.command({ find: 'things', filter: {}, batchSize: 1, maxTimeMS: 20 })
    const filterless = { getMore: cursor.id, collection: 'things', batchSize: many }
    await assert.rejects(engine.db.command(filterless), { code: 50 })
  })
})
