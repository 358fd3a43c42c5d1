import assert from 'node:assert/strict'
import { type Collection, type Document, Long, UUID } from 'mongodb'
import { engineOfBlock, threeThings } from '../../testing.ts'

describe('writing commands', () => {
  const engine = engineOfBlock()
  let things: Collection
  const run = (command: Document) => engine.db.command(command)
  beforeEach(async () => {
    things = await threeThings(engine)
  })

  describe('insert', () => {
    it('creates a missing _id and puts it first', async () => {
      const { insertedId } = await things.insertOne({ name: 'd' })
      assert.deepEqual(await things.findOne({ _id: insertedId }), { _id: insertedId, name: 'd' })
      await run({ insert: 'things', documents: [{ name: 'e', _id: 5 }] })
      assert.deepEqual(Object.keys((await things.findOne({ name: 'e' })) ?? {}), ['_id', 'name'])
    })

    it('stops at the first error if ordered, and continues if not', async () => {
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

    it('stores 16 MB and refuses more', async () => {
      await things.insertOne({ _id: 20 as never, text: 'x'.repeat(15_000_000) })
      assert.equal((await things.findOne({ _id: 20 as never }))?.text.length, 15_000_000)
      const reply = await run({ insert: 'things', documents: [{ _id: 21, text: 'x'.repeat(17_000_000) }] })
      assert.equal(reply.writeErrors[0].code, 10334)
    })
  })

  describe('update', () => {
    describe('of nested documents', () => {
      /** A document with this many levels of documents or arrays. */
      const nested = (levels: number, inArrays = false): Document => {
        let value: unknown = {}
        for (let level = 2; level < levels; level++) value = inArrays ? [value] : { a: value }
        return { a: value }
      }
      const filter = { _id: 'deep' as never }

      for (const inArrays of [false, true])
        it(`accepts an insert with 180 levels${inArrays ? ' of arrays' : ''}, and refuses more`, async () => {
          await things.insertOne({ ...filter, ...nested(180, inArrays) })
          await assert.rejects(things.insertOne(nested(181, inArrays)), { code: 15 })
        })

      it('accepts 180 levels from an update or an upsert, and an empty document below them', async () => {
        await things.insertOne({ ...filter, n: 1 })
        const full = (levels: number) => JSON.parse(JSON.stringify(nested(levels)).replace('{}', '{"b":1}'))
        const writes = (document: Document) => [
          () => things.updateOne(filter, { $set: document }),
          () => things.updateOne(filter, [{ $set: { a: { $literal: document.a } } }]),
          () => things.replaceOne(filter, document),
          () => things.updateOne({ _id: 'new' as never }, { $set: document }, { upsert: true }),
          () => things.findOneAndReplace({ _id: 'newer' as never }, document, { upsert: true }),
        ]
        for (const write of [...writes(nested(182)), ...writes(full(181))])
          await assert.rejects(write(), { code: 15 })
        assert.equal(await things.countDocuments({ _id: { $in: ['new', 'newer'] as never[] } }), 0)
        for (const write of [...writes(full(180)), ...writes(nested(181))]) await write()
        assert.deepEqual((await things.findOne(filter))?.a, nested(181).a)
        const name = 'a.'.repeat(180)
        await assert.rejects(things.updateOne(filter, { $push: { [`${name}b`]: 1 } as never }), { code: 15 })
      })
    })

    it('refuses sort, which only MongoDB 8 has, and carries out nothing of such a command', async () => {
      const update = { q: {}, u: { $set: { seen: true } } }
      const updates = [update, { ...update, sort: { n: 1 } }]
      await assert.rejects(run({ update: 'things', updates }), {
        code: 40415,
        message: "BSON field 'update.updates.sort' is an unknown field.",
      })
      assert.equal(await things.countDocuments({ seen: true }), 0)
    })

    it('changes one or many, and counts only changed documents', async () => {
      const one = await things.updateOne({ n: { $gt: 0 } }, { $set: { seen: true } })
      assert.deepEqual([one.matchedCount, one.modifiedCount], [1, 1])
      const many = await things.updateMany({}, { $set: { seen: true } })
      assert.deepEqual([many.matchedCount, many.modifiedCount], [3, 2])
    })

    it('upserts from the filter and $setOnInsert', async () => {
      const update = { $set: { n: 1 }, $setOnInsert: { made: true } }
      const firstUpsert = await things.updateOne(
        { name: 'new', 'at.place': { $eq: 'here' }, n: { $gt: 5 } },
        update,
        { upsert: true },
      )
      assert.equal(firstUpsert.upsertedCount, 1)
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

    it('renames fields, except through an array; upserts from a single $all', async () => {
      await assert.rejects(things.updateOne({ _id: 1 as never }, { $rename: { 'tags.0': 'x' } }), { code: 2 })
      await things.updateOne({ _id: 1 as never }, { $rename: { name: 'who.name' } })
      assert.deepEqual((await things.findOne({ _id: 1 as never }))?.who, { name: 'a' })
      await things.updateOne(
        { _id: 8 as never, l: { $all: [1] }, m: { $in: [1, 2] } },
        { $set: { a: 1 } },
        { upsert: true },
      )
      assert.deepEqual(await things.findOne({ _id: 8 as never }), { _id: 8, l: 1, a: 1 })
    })

    it('replaces a document and keeps its _id', async () => {
      await things.replaceOne({ name: 'a' }, { only: 1 })
      assert.deepEqual(await things.findOne({ _id: 1 as never }), { _id: 1, only: 1 })
    })

    it('stores the _id first, wherever an insert, a replacement or a pipeline has it', async () => {
      const namesOf = async (id: number) => Object.keys((await things.findOne({ _id: id as never })) ?? {})
      await things.replaceOne({ _id: 1 as never }, { a: 1, _id: 1 })
      assert.deepEqual(await namesOf(1), ['_id', 'a'])
      await things.updateOne({ _id: 1 as never }, [{ $replaceWith: { b: 1, _id: '$_id' } }])
      assert.deepEqual(await namesOf(1), ['_id', 'b'])
      await things.replaceOne({ _id: 9 as never }, { a: 1, _id: 9 }, { upsert: true })
      assert.deepEqual(await namesOf(9), ['_id', 'a'])
    })

    it('runs a pipeline', async () => {
      await things.updateMany({}, [{ $set: { twice: { $multiply: ['$n', 2] } } }, { $unset: 'tags' }])
      assert.deepEqual(await things.findOne({ _id: 1 as never }), { _id: 1, name: 'a', n: 3, twice: 6 })
    })

    it('applies array filters and positions', async () => {
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

  it('applies $min, $max, $bit and $currentDate', async () => {
    await things.insertOne({ _id: 9 as never, a: 5, b: 5, f: 6 })
    await things.updateOne(
      { _id: 9 as never },
      { $min: { a: 3, c: 1 }, $max: { b: 9 }, $bit: { f: { xor: 3 } }, $currentDate: { at: true } },
    )
    const { at, ...rest } = (await things.findOne({ _id: 9 as never })) as Document
    assert.deepEqual(rest, { _id: 9, a: 3, b: 9, c: 1, f: 5 })
    assert.ok(at instanceof Date && Date.now() - at.getTime() < 5000)
  })

  it('deletes one document or all', async () => {
    assert.equal((await things.deleteOne({ n: { $gte: 2 } })).deletedCount, 1)
    assert.equal((await things.deleteMany({})).deletedCount, 2)
    assert.equal(await things.countDocuments(), 0)
  })

  describe('findAndModify', () => {
    it('returns the document before or after the change, sorted and projected', async () => {
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

    it('removes, replaces and upserts, and returns null without a match', async () => {
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

  describe('a retried write', () => {
    const mine = new UUID()
    /** Sets the session and the number, which the driver otherwise chooses. */
    const send = (command: Document, number: number, id = mine, db = engine.db) => {
      const session = engine.client.startSession()
      Object.assign(session.serverSession, { id: { id: id.toBinary() }, txnNumber: number })
      return db.command({ ...command, txnNumber: Long.fromNumber(number) }, { session })
    }
    const raise = { q: { _id: 1 }, u: { $inc: { n: 1 } } }
    const commands: Document[] = [
      { insert: 'things', documents: [{ _id: 50 }, { _id: 51 }] },
      { update: 'things', updates: [raise, { q: { _id: 60 }, u: { $inc: { n: 1 } }, upsert: true }, raise] },
      { findAndModify: 'things', query: { _id: 2 }, update: { $inc: { n: 1 } }, new: true },
      { findAndModify: 'things', query: { _id: 2 }, update: { $inc: { n: 1 } }, fields: { n: 1 } },
      { findAndModify: 'things', query: {}, remove: true, sort: { _id: 1 } },
      { delete: 'things', deletes: [{ q: {}, limit: 1 }] },
    ]

    it('is not carried out again, and gets the same answer, also after kill -9', async () => {
      const ids = commands.map(() => new UUID())
      const answers = async (number: number) => {
        const replies: Document[] = []
        for (const [i, command] of commands.entries()) replies.push(await send(command, number, ids[i]))
        return replies
      }
      const firstAnswers = await answers(2)
      const left = await things.find().toArray()
      assert.deepEqual(await answers(2), firstAnswers)
      await engine.kill()
      await engine.restart()
      things = engine.db.collection('things')
      assert.deepEqual(await answers(2), firstAnswers)
      assert.deepEqual(await things.find().toArray(), left)
      await assert.rejects(answers(1), { code: 225 })
    })

    it('carries out the rest of a batch that failed halfway', async () => {
      const id = new UUID()
      const command = { insert: 'things', documents: [{ _id: 70 }, { _id: 1 }, { _id: 71 }] }
      const retry = () => send(command, 1, id)
      assert.deepEqual([(await retry()).n, (await retry()).n], [1, 1])
      await things.deleteOne({ _id: 1 as never })
      assert.deepEqual([(await retry()).n, (await retry()).n], [3, 3])
    })

    it('waits for the first attempt if that still runs', async () => {
      const id = new UUID()
      const documents = Array.from({ length: 2000 }, (_, i) => ({ batch: i }))
      const retry = () => send({ insert: 'things', documents }, 1, id)
      const answers = await Promise.all([retry(), retry(), retry()])
      assert.deepEqual(
        answers.map(({ n }) => n),
        [2000, 2000, 2000],
      )
      assert.equal(await things.countDocuments({ batch: { $exists: true } }), 2000)
    })

    it('is recognised for the last thousand sessions', async () => {
      const insert = (i: number) => {
        const id = new UUID(i.toString(16).padStart(32, '0'))
        return send({ insert: 'things', documents: [{ _id: 1000 + i }] }, 1, id)
      }
      await insert(0)
      await Promise.all(Array.from({ length: 1000 }, (_, i) => insert(i + 1)))
      assert.deepEqual((await insert(1000)).n, 1)
      assert.equal((await insert(0)).writeErrors[0].code, 11000)
    })

    it('is refused for a command that cannot be retried', async () => {
      const updates = [{ q: {}, u: { $inc: { n: 1 } }, multi: true }]
      const [fault] = (await send({ update: 'things', updates }, 30)).writeErrors
      assert.equal(fault.code, 72)
    })

    it('may be a commit', async () => {
      const within = { autocommit: false }
      const insert = { insert: 'things', documents: [{ _id: 80 }], startTransaction: true, ...within }
      const commit = (number: number) =>
        send({ commitTransaction: 1, ...within }, number, mine, engine.client.db('admin'))
      await send(insert, 40)
      await commit(40)
      await engine.kill()
      await engine.restart()
      assert.equal((await commit(40)).ok, 1)
      await assert.rejects(commit(41), { code: 251 })
      await assert.rejects(commit(39), { code: 225 })
    })
  })
})
