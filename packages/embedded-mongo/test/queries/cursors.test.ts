import assert from 'node:assert/strict'
import { deserialize, serialize } from 'bson'
import { type Collection, type Document, Long } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'
import { DocumentArray } from '../../values/raw-documents.ts'

describe('cursors', () => {
  const engine = engineOfBlock()
  let many: Collection
  const run = (command: Document) => engine.db.command(command, { promoteLongs: false })

  before(async () => {
    many = engine.db.collection('many')
    await many.insertMany(
      Array.from({ length: 1000 }, (_, i) => ({ _id: i as never, i, text: 'x'.repeat(100) })),
    )
  })

  const size = async (command: Document): Promise<[number, boolean]> => {
    const { cursor } = await run(command)
    return [cursor.firstBatch.length, (cursor.id as Long).isZero()]
  }

  it('return 101 documents, n, none or only one in the first batch', async () => {
    assert.deepEqual(await size({ find: 'many' }), [101, false])
    assert.deepEqual(await size({ find: 'many', batchSize: 7 }), [7, false])
    assert.deepEqual(await size({ find: 'many', batchSize: 0 }), [0, false])
    assert.deepEqual(await size({ find: 'many', batchSize: 7, singleBatch: true }), [7, true])
    assert.deepEqual(await size({ find: 'many', limit: 5 }), [5, true])
    assert.deepEqual(await size({ find: 'many', limit: 101 }), [101, true])
    assert.deepEqual(await size({ find: 'many', limit: 102 }), [101, false])
    assert.deepEqual(await size({ find: 'many', limit: 7, batchSize: 7 }), [7, true])
    assert.deepEqual(await size({ aggregate: 'many', pipeline: [], cursor: { batchSize: 3 } }), [3, false])
    assert.deepEqual(await size({ find: 'nothing', batchSize: 0 }), [0, false])
  })

  it('number the documents of an array', () => {
    const documents = Array.from({ length: 10_001 }, (_, i) => serialize({ i, text: 'x'.repeat(i % 100) }))
    const array = new DocumentArray()
    for (const run of [documents.slice(0, 7), documents.slice(7)]) array.append(Buffer.concat(run))
    const entries = Object.entries(deserialize(array.within(Buffer.alloc(0)))).map(([name, { i }]) => [
      name,
      String(i),
    ])
    assert.equal(entries.length, 10_001)
    for (const [name, i] of entries) assert.equal(name, i)
  })

  for (const batchSize of [1, 3, 100, 1000, 5000])
    it(`return each document once and in order with batches of ${batchSize}`, async () => {
      const documents = await many
        .find({}, { batchSize })
        .limit(batchSize === 1 ? 50 : 1000)
        .toArray()
      assert.deepEqual(
        documents.map(({ i }) => i),
        Array.from({ length: documents.length }, (_, i) => i),
      )
      const sorted = await many
        .find({ i: { $lt: 500 } }, { batchSize, sort: { i: -1 } })
        .limit(40)
        .toArray()
      assert.deepEqual(
        sorted.map(({ i }) => i),
        Array.from({ length: 40 }, (_, i) => 499 - i),
      )
    })

  it('keep batches below 16 MB', async () => {
    const large = engine.db.collection('large')
    for (let i = 0; i < 6; i++) await large.insertOne({ text: 'x'.repeat(4_000_000) })
    const { cursor } = await run({ find: 'large', batchSize: 100 })
    assert.ok(cursor.firstBatch.length < 6 && cursor.firstBatch.length > 1)
    assert.equal((await large.find().toArray()).length, 6)
  })

  it('refuse getMore on a killed cursor, with another collection, and twice', async () => {
    const { cursor } = await run({ find: 'many', batchSize: 2 })
    await assert.rejects(run({ getMore: cursor.id, collection: 'other' }), { code: 13 })
    assert.equal(
      (await run({ getMore: cursor.id, collection: 'many', batchSize: 2 })).cursor.nextBatch[0].i.valueOf(),
      2,
    )
    const killed = await run({ killCursors: 'many', cursors: [cursor.id, Long.fromNumber(77)] })
    assert.deepEqual([killed.cursorsKilled.length, killed.cursorsNotFound.length], [1, 1])
    await assert.rejects(run({ getMore: cursor.id, collection: 'many' }), { code: 43 })
  })

  it('return nothing twice if there are writes between batches, and leave out deleted documents', async () => {
    const moving = engine.db.collection('moving')
    await moving.createIndex({ i: 1 })
    await moving.insertMany(Array.from({ length: 1000 }, (_, i) => ({ _id: i as never, i })))
    const cursor = moving.find({ i: { $gte: 0 } }, { batchSize: 10, hint: { i: 1 } })
    const documents = [await cursor.next()]
    await moving.deleteMany({ i: { $gte: 900 } })
    for await (const document of cursor) documents.push(document)
    assert.equal(new Set(documents.map((document) => document?._id)).size, documents.length)
    assert.equal(documents.length, 900)
  })

  it('end when they are killed during a batch', async () => {
    const ends = engine.db.collection('ends')
    await ends.insertMany(Array.from({ length: 20_000 }, (_, i) => ({ is: i === 0 || i > 19_990 })))
    const { cursor } = await run({ find: 'ends', filter: { is: true }, batchSize: 1 })
    const next = { getMore: cursor.id, collection: 'ends', batchSize: 1 }
    const running = run(next)
    const { cursorsKilled } = await run({ killCursors: 'ends', cursors: [cursor.id] })
    assert.equal(cursorsKilled.length, 1)
    await assert.rejects(running, { code: 237 })
    await assert.rejects(run(next), { code: 43 })
  })

  it('end or fail on a dropped collection, and harm nothing else', async () => {
    const gone = engine.db.collection('gone')
    await gone.insertMany(Array.from({ length: 2000 }, (_, i) => ({ i })))
    const cursor = gone.find({}, { batchSize: 5 })
    await cursor.next()
    await gone.drop()
    await cursor.toArray().catch(() => {})
    assert.equal(await many.countDocuments(), 1000)
  })
})
