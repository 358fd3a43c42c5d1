import assert from 'node:assert/strict'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Collection, Document } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

const who = ['ann', 'ben', 'carol', 'dave', 'eve', 'finn']
const selection = (seed: number): string[] => who.filter((_, i) => (seed >> i) & 1)

describe('counts by the array with which an index begins', function suite() {
  this.timeout(60_000)
  const engine = engineOfBlock()
  let things: Collection<Document & { _id: number }>
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
    await things.createIndex({ who: 1, at: -1 })
    await things.insertMany(
      Array.from({ length: 300 }, (_, i) => ({ _id: i, who: selection((i % 62) + 1), at: i % 7 })),
    )
  })

  /** Compares the count for each set of people with a full scan. */
  const assertCounts = async () => {
    const stored = await things.find({}, { hint: { $natural: 1 }, projection: { who: 1 } }).toArray()
    for (let seed = 1; seed < 64; seed += 3) {
      const names = [...selection(seed), null, 'nobody']
      const matches = stored.filter((thing) =>
        [thing.who ?? null].flat().some((name) => names.includes(name)),
      )
      const filter = { who: { $in: names } }
      assert.equal(await things.countDocuments(filter), matches.length, JSON.stringify(filter))
    }
  }

  it('are right after inserts, updates and deletes', async () => {
    await assertCounts()
    await things.updateMany({ at: 3 }, { $set: { who: ['ann', 'finn', 'ann'] } })
    await things.updateMany({ at: 4 }, { $set: { at: 9 } })
    await things.updateOne({ _id: 3 }, { $pull: { who: 'ann' } } as Document)
    await things.replaceOne({ _id: 11 }, { who: ['eve'] })
    await things.updateOne({ _id: 1000 }, { $set: { who: ['ben', 'gus'] } }, { upsert: true })
    await things.deleteMany({ at: 5 })
    await things.findOneAndDelete({ who: 'carol' })
    await assertCounts()
  })

  it('are right after concurrent transactions, also aborted ones', async () => {
    const client = engine.client
    const open = [1, 2, 3].map(() => client.startSession())
    for (const [i, session] of open.entries()) {
      session.startTransaction()
      await things.insertMany(
        [2000, 3000].map((id) => ({ _id: id + i, who: ['new', 'ann'], at: i })),
        { session },
      )
      await things.deleteOne({ _id: i }, { session })
      assert.equal(await count({ session }), 2)
    }
    const [first, second, third] = open
    await first?.commitTransaction()
    await second?.abortTransaction()
    await third?.commitTransaction()
    for (const session of open) await session.endSession()
    assert.equal(await count(), 4)
    await assertCounts()
  })

  const count = (options = {}) => things.countDocuments({ who: { $in: ['new', 'other'] } }, options)

  it('are right if some documents have no array, a long one, or an empty one', async () => {
    await things.insertOne({ _id: 399, who: [] })
    await assertCounts()
    await things.insertOne({ _id: 400, who: 'ann' })
    await assertCounts()
    await things.insertMany([{ _id: 401 }, { _id: 402, who: [] }, { _id: 403, who: null }])
    await things.insertOne({ _id: 404, who: Array.from({ length: 70 }, (_, i) => `${who[i % 6]}${i}`) })
    await things.updateOne({ _id: 404 }, { $push: { who: 'ann' } } as Document)
    await assertCounts()
  })

  /** Opens a copy of the data file, which compares its tallies with the documents. */
  const reopen = async () => {
    await engine.kill()
    const file = join(engine.dataDir, 'data.mdb')
    await copyFile(file, `${file}.copy`)
    await rename(`${file}.copy`, file)
    await engine.restart()
    things = engine.db.collection('things')
  }

  it('are right for an index that is built later, also with concurrent writes', async () => {
    await things.dropIndexes()
    const some500 = (from: number) =>
      Array.from({ length: 500 }, (_, i) => ({ _id: from + i, who: selection(((from + i) % 62) + 1), at: i }))
    await things.insertMany(some500(1000))
    await things.createIndex({ who: 1, at: -1 })
    await things.deleteMany({ at: 5 })
    await assertCounts()
    await reopen()
    await things.insertMany(some500(2000))
    await assertCounts()
    await things.dropIndexes()
    await Promise.all([
      things.createIndex({ who: 1, at: 1 }),
      ...[3000, 4000, 5000].map((from) => things.insertMany(some500(from))),
      things.deleteMany({ at: 3 }),
    ])
    await assertCounts()
    await reopen()
    await assertCounts()
  })

  it('are right after a restart, and after the index has been rebuilt', async () => {
    await things.insertOne({ _id: 500, who: ['ann', 'ben'] })
    await reopen()
    await things.insertOne({ _id: 501, who: ['ann', 'ben'] })
    await assertCounts()
    await things.createIndex({ who: 1, _id: 1 })
    await things.dropIndex('who_1_at_-1')
    await things.deleteOne({ _id: 500 })
    await assertCounts()
    await things.deleteMany({})
    await things.createIndex({ who: 1, at: -1 })
    await things.insertOne({ _id: 1, who: ['ann', 'ben'] })
    await assertCounts()
  })
})
