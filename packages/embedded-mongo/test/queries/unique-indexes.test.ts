import assert from 'node:assert/strict'
import { type Collection, type Document, ObjectId } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

describe('unique indexes', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
  })

  describe("report a duplicate key in MongoDB's exact words", () => {
    const rejected = async (document: Document): Promise<Document> => {
      await things.insertOne({ ...document })
      return things.insertOne({ ...document }).then(
        () => assert.fail('not refused'),
        (error) => error,
      )
    }

    it('name a text', async () => {
      await things.createIndex({ name: 1 }, { unique: true })
      const { _id, ...document } = { _id: 0, name: 'x "y"' }
      const error = await rejected(document)
      assert.equal(
        error.message,
        'E11000 duplicate key error collection: test.things index: name_1 dup key: { name: "x \\"y\\"" }',
      )
      assert.deepEqual(
        [error.code, error.keyPattern, error.keyValue],
        [11000, { name: 1 }, { name: 'x "y"' }],
      )
    })

    const values: [unknown, string][] = [
      [null, 'null'],
      [5, '5'],
      [1.5, '1.5'],
      [true, 'true'],
      [new ObjectId('0123456789abcdef01234567'), "ObjectId('0123456789abcdef01234567')"],
      [new Date(0), 'new Date(0)'],
      [{ a: [1, 'b'] }, '{ a: [ 1, "b" ] }'],
    ]
    for (const [value, visible] of values)
      it(`name ${visible}`, async () => {
        await things.createIndex({ a: 1, 'b.c': -1 }, { unique: true })
        const error = await rejected({ a: value, b: { c: 1 } })
        assert.equal(
          error.message,
          `E11000 duplicate key error collection: test.things index: a_1_b.c_-1 dup key: { a: ${visible}, b.c: 1 }`,
        )
        assert.deepEqual(error.keyPattern, { a: 1, 'b.c': -1 })
        assert.deepEqual(error.keyValue, { a: value, 'b.c': 1 })
      })

    it('name the _id, and the index by the name that Parse looks for', async () => {
      await things.insertOne({ _id: 'a' as never, _auth_data_x: { id: 'q' } })
      await assert.rejects(things.insertOne({ _id: 'a' as never }), {
        message: 'E11000 duplicate key error collection: test.things index: _id_ dup key: { _id: "a" }',
      })
      await things.createIndex(
        { '_auth_data_x.id': 1 },
        { unique: true, sparse: true, name: '_auth_data_x_id' },
      )
      await assert.rejects(things.insertOne({ _auth_data_x: { id: 'q' } }), {
        message: /index: _auth_data_x_id dup key: \{ _auth_data_x\.id: "q" \}$/,
      })
    })
  })

  describe('when unique', () => {
    it('count a missing field as null, once', async () => {
      await things.createIndex({ a: 1 }, { unique: true })
      await things.insertOne({})
      await assert.rejects(things.insertOne({ a: null }), { code: 11000 })
    })

    it('refuse to be built over duplicates, and leave nothing behind', async () => {
      await things.insertMany([{ a: 1 }, { a: 1 }])
      await assert.rejects(things.createIndex({ a: 1 }, { unique: true }), { code: 11000 })
      assert.equal((await things.indexes()).length, 1)
      await things.createIndex({ a: 1 })
      assert.equal(await things.countDocuments({ a: 1 }), 2)
    })

    it('apply to every element of an array, and let a document keep its own', async () => {
      await things.createIndex({ tags: 1 }, { unique: true })
      await things.insertOne({ _id: 1 as never, tags: ['a', 'b', 'a'] })
      await assert.rejects(things.insertOne({ tags: ['c', 'b'] }), { code: 11000 })
      await things.updateOne({ _id: 1 as never }, { $set: { tags: ['b', 'c'] } })
      await things.insertOne({ tags: 'a' })
      await assert.rejects(things.updateOne({ tags: 'a' }, { $set: { tags: 'c' } }), { code: 11000 })
    })

    it('compare numbers of all types by value', async () => {
      await things.createIndex({ a: 1 }, { unique: true })
      await engine.db.command({ insert: 'things', documents: [{ a: 5n }] })
      await assert.rejects(things.insertOne({ a: 5 }), { code: 11000 })
      await things.insertOne({ a: 9007199254740993n })
      await things.insertOne({ a: 9007199254740992n })
      assert.equal(await things.countDocuments({ a: 9007199254740993n }), 1)
    })

    it('let another document take a released key', async () => {
      await things.createIndex({ a: 1 }, { unique: true })
      await things.insertMany([
        { _id: 1 as never, a: 1 },
        { _id: 2 as never, a: 2 },
      ])
      await things.updateOne({ _id: 1 as never }, { $set: { a: 3 } })
      await things.updateOne({ _id: 2 as never }, { $set: { a: 1 } })
      await things.deleteOne({ _id: 2 as never })
      await things.insertOne({ a: 1 })
      assert.equal(await things.countDocuments(), 2)
    })
  })

  it('compare texts that are too long for a key by all of their text, also within arrays', async () => {
    await things.createIndex({ text: 1, words: 1 }, { unique: true })
    const text = 'x'.repeat(2500)
    await things.insertOne({ text, words: ['a', 'b'] })
    await things.insertOne({ text, words: ['c', 'd'] })
    for (const words of [['b'], ['d', 'e'], 'a'])
      await assert.rejects(things.insertOne({ text, words }), { code: 11000 })
  })
})
