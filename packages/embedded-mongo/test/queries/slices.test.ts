import assert from 'node:assert/strict'
import type { Collection, Document } from 'mongodb'
import { engineOfBlock, manyThings } from '../../testing.ts'

const many = process.env.TEST_SIZE ? 40_000 : 20_000

describe('long commands', function suite() {
  this.timeout(120_000)
  const engine = engineOfBlock()
  let things: Collection
  const fill = async (count = many) => {
    things = await manyThings(engine, count)
  }

  const long: [name: string, run: () => Promise<unknown>][] = [
    ['find', async () => assert.equal(await things.findOne({ text: 'y' }), null)],
    [
      'a find that sorts',
      async () => assert.equal((await things.find().sort({ group: 1, i: -1 }).next())?.i, many - 100),
    ],
    ['count', async () => assert.equal(await things.countDocuments({ text: 'x' }), many)],
    ['distinct', async () => assert.equal((await things.distinct('group')).length, 100)],
    [
      'a pipeline that groups',
      async () => {
        const groups = await things.aggregate([{ $group: { _id: '$group', n: { $sum: 1 } } }]).toArray()
        assert.deepEqual([groups.length, groups[0]?.n], [100, many / 100])
      },
    ],
    ['findAndModify', () => things.findOneAndUpdate({ i: many - 1 }, { $set: { seen: true } })],
    ['createIndexes', () => things.createIndex({ text: 1, i: 1 })],
    ['updateMany', () => things.updateMany({}, { $set: { seen: true } })],
    ['deleteMany', () => things.deleteMany({ text: 'x' })],
  ]
  describe('other commands can read during', () => {
    before(() => fill())
    before(() => engine.db.collection('other').insertOne({ _id: 1 as never }))

    for (const [name, run] of long)
      it(`${name}`, async () => {
        let running = true
        const command = run().finally(() => {
          running = false
        })
        let served = 0
        while (running) {
          await engine.db.collection('other').findOne({ _id: 1 as never })
          served++
        }
        await command
        assert.ok(served >= 5, `only ${served} reads were answered`)
      })
  })

  describe('a time limit ends', () => {
    before(() => fill(20_000))

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
      it(`${JSON.stringify(command).slice(0, 60)}`, async () => {
        const startTime = performance.now()
        await assert.rejects(engine.db.command({ ...command, maxTimeMS: 3 }), { code: 50 })
        assert.ok(performance.now() - startTime < 1000)
      })

    it('count the time of a cursor over all its batches', async () => {
      const { cursor } = await engine.db.command({ find: 'things', filter: {}, batchSize: 1, maxTimeMS: 20 })
      const withoutFilter = { getMore: cursor.id, collection: 'things', batchSize: many }
      await assert.rejects(engine.db.command(withoutFilter), { code: 50 })
    })
  })
})
