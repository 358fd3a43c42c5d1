import assert from 'node:assert/strict'
import type { Collection } from 'mongodb'
import { engineOfBlock, manyThings } from '../../testing.ts'

const many = process.env.TEST_SIZE ? 40_000 : 10_000

describe('commands that change many documents', function suite() {
  this.timeout(120_000)
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    things = await manyThings(engine, many)
  })

  it('change all documents', async () => {
    assert.equal((await things.updateMany({ i: { $gte: 0 } }, { $inc: { i: 1 } })).modifiedCount, many)
    await things.createIndex({ i: 1 })
    assert.equal(await things.countDocuments({ i: { $gt: 10, $lte: many / 2 } }), many / 2 - 10)
    assert.equal((await things.deleteMany({ text: 'x', i: { $gt: many / 2 } })).deletedCount, many / 2)
    assert.equal(await things.countDocuments({}), many / 2)
    assert.equal((await things.find({}, { hint: { i: 1 } }).toArray()).length, many / 2)
  })

  it('include writes during an index build in the index', async () => {
    const built = things.createIndex({ i: 1 }, { unique: true })
    await Promise.all([
      things.deleteOne({ _id: (many - 1) as never }),
      things.updateOne({ _id: 5 as never }, { $set: { i: -5 } }),
      things.insertOne({ i: many * 2 }),
    ])
    await built
    const indexedThings = await things.find({ i: { $gte: -10 } }, { hint: { i: 1 } }).toArray()
    assert.deepEqual(
      [indexedThings.length, indexedThings[0]?.i, indexedThings.at(-1)?.i],
      [many, -5, many * 2],
    )
    await assert.rejects(things.insertOne({ i: many * 2 }), { code: 11000 })
  })

  it('leave nothing behind if an index build fails', async () => {
    await things.updateOne({ _id: (many - 1) as never }, { $set: { i: 0 } })
    await assert.rejects(things.createIndex({ i: 1 }, { unique: true }), { code: 11000 })
    assert.equal((await things.indexes()).length, 1)
    await things.insertOne({ i: 0 })
  })

  it('leave no index behind if kill -9 interrupts its build', async () => {
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
})
