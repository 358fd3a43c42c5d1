import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Binary, type ClientSession, type Collection, type Document, Long, UUID } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

type Attempt = (things: Collection, run: (command: Document) => Promise<Document>) => Promise<unknown>

const update =
  (u: Document, q: Document = {}): Attempt =>
  (things) =>
    things.updateOne(q, u)

const aggregate = (run: (command: Document) => Promise<Document>, options: Document) =>
  run({ aggregate: 'things', pipeline: [], cursor: {}, ...options })

const attempts: [code: number, what: string, attempt: Attempt][] = [
  [11000, 'a duplicate key', (things) => things.insertOne({ _id: 1 as never })],
  [85, 'the same key under another name', (things) => things.createIndex({ n: 1 }, { name: 'other' })],
  [
    86,
    'the same name and key with another uniqueness',
    (things) => things.createIndex({ n: 1 }, { name: 'n_1', sparse: true }),
  ],
  [86, 'the same name for another key', (things) => things.createIndex({ m: 1 }, { name: 'n_1' })],
  [26, 'indexes of a collection that is not there', (_, run) => run({ listIndexes: 'nothing' })],
  [26, 'dropping what is not there', (_, run) => run({ drop: 'nothing' })],
  [27, 'dropping an index that is not there', (things) => things.dropIndex('nope_1')],
  [48, 'creating a collection twice', (_, run) => run({ create: 'things' })],
  [43, 'a cursor that is not there', (_, run) => run({ getMore: Long.fromNumber(5), collection: 'things' })],
  [
    67,
    'an index on nothing',
    (_, run) => run({ createIndexes: 'things', indexes: [{ key: {}, name: 'x' }] }),
  ],
  [67, 'a compound TTL index', (things) => things.createIndex({ a: 1, b: 1 }, { expireAfterSeconds: 1 })],
  [73, 'a collection name with a $', (_, run) => run({ insert: 'a$b', documents: [{}] })],
  [73, 'an empty collection name', (_, run) => run({ find: '' })],
  [2, 'an unknown query operator', (things) => things.findOne({ n: { $foo: 1 } })],
  [2, 'an unknown top-level operator', (things) => things.findOne({ $foo: 1 })],
  [2, '$in without an array', (things) => things.findOne({ n: { $in: 1 } } as never)],
  [2, '$push to a number', update({ $push: { n: 1 } })],
  [9, 'an unknown modifier', update({ $foo: { n: 1 } })],
  [
    9,
    'a replacement of many',
    (_, run) => run({ update: 'things', updates: [{ q: {}, u: { a: 1 }, multi: true }] }),
  ],
  [14, '$inc of a string', update({ $inc: { name: 1 } })],
  [14, '$inc by a string', update({ $inc: { n: 'x' } })],
  [14, '$pop from a number', update({ $pop: { n: 1 } })],
  [14, 'an invalid filter', (_, run) => run({ find: 'things', filter: 1 })],
  ...['x', {}, [], new Date(0)].flatMap((value): typeof attempts => [
    [14, 'remove without a boolean', (_, run) => run({ findAndModify: 'things', remove: value })],
    [14, 'ordered without a boolean', (_, run) => run({ insert: 'things', documents: [{}], ordered: value })],
    [14, 'allowDiskUse without a boolean', (_, run) => aggregate(run, { allowDiskUse: value })],
    [14, 'singleBatch without a boolean', (_, run) => run({ find: 'things', singleBatch: value })],
    [14, 'noCursorTimeout without a boolean', (_, run) => run({ find: 'things', noCursorTimeout: value })],
    [14, 'tailable without a boolean', (_, run) => run({ find: 'things', tailable: value })],
    [14, 'returnKey without a boolean', (_, run) => run({ find: 'things', returnKey: value })],
    [14, 'hidden without a boolean', (things) => things.createIndex({ h: 1 }, { hidden: value as never })],
  ]),
  [14, 'let without a document', (_, run) => aggregate(run, { let: [] })],
  [14, 'a collation without a document', (_, run) => aggregate(run, { collation: 1 })],
  [9, 'a hint without a name or document', (_, run) => aggregate(run, { hint: null })],
  [2, '$natural in no direction', (_, run) => aggregate(run, { hint: { $natural: 2 } })],
  [9, 'half a millisecond', (_, run) => aggregate(run, { maxTimeMS: 1.5 })],
  [2, 'too many milliseconds', (_, run) => aggregate(run, { maxTimeMS: 2 ** 31 })],
  [40415, 'an unknown part of a read concern', (_, run) => aggregate(run, { readConcern: { some: 1 } })],
  [2, 'an unknown read concern', (_, run) => aggregate(run, { readConcern: { level: 'most' } })],
  [14, 'an invalid time', (_, run) => aggregate(run, { readConcern: { afterClusterTime: 1 } })],
  [40415, 'an unknown part of a write concern', (_, run) => run({ drop: 'x', writeConcern: { W: 1 } })],
  [4890500, 'a variable of a document', (_, run) => aggregate(run, { let: { x: '$a' } })],
  [51144, 'a variable of the moment', (_, run) => aggregate(run, { let: { x: '$$NOW' } })],
  [4738901, "a variable called as one of the system's", (_, run) => aggregate(run, { let: { NOW: 1 } })],
  [51144, 'the moment of a count', (things) => things.distinct('n', { $expr: { $lt: ['$n', '$$NOW'] } })],
  [322, 'another API', (_, run) => aggregate(run, { apiVersion: '2' })],
  [4886600, 'a strict API without a version', (_, run) => aggregate(run, { apiStrict: true })],
  [323, 'a command outside the API', (_, run) => run({ serverStatus: 1, apiVersion: '1', apiStrict: true })],
  [9, 'a write concern of an explanation', (_, run) => aggregate(run, { explain: true, writeConcern: {} })],
  [
    2,
    'an explanation of a fault',
    (_, run) => aggregate(run, { explain: true, pipeline: [{ $project: { a: { $divide: [1, 0] } } }] }),
  ],
  [73, 'documents of a collection', (_, run) => aggregate(run, { pipeline: [{ $documents: [] }] })],
  ...(['killSessions', 'endSessions', 'refreshSessions'] as const).flatMap((name): typeof attempts => [
    [14, `${name} of a number`, (_, run) => run({ [name]: 1 })],
    [14, `${name} of no id`, (_, run) => run({ [name]: [{ id: 'x' }] })],
    [40414, `${name} without ids`, (_, run) => run({ [name]: [{}] })],
    [40415, `${name} of too much`, (_, run) => run({ [name]: [{ id: new UUID(), more: 1 }] })],
    [207, `${name} of half an id`, (_, run) => run({ [name]: [{ id: new Binary(Buffer.alloc(8), 4) }] })],
  ]),
  [13, 'a commit elsewhere than in admin', (_, run) => run({ commitTransaction: 1 })],
  [40414, 'dropping no index', (_, run) => run({ dropIndexes: 'things' })],
  [50768, 'a read that can be sent again', (_, run) => run({ ping: 1, txnNumber: Long.fromNumber(1) })],
  [40414, 'all sessions of nobody', (_, run) => run({ killAllSessions: [{ db: 'a' }] })],
  [2, 'an unknown write concern', (_, run) => run({ drop: 'x', writeConcern: { w: 'Majority' } })],
  [100, 'more members than there are', (things) => things.insertOne({}, { writeConcern: { w: 2 } })],
  [9, 'tags without numbers', (_, run) => run({ drop: 'x', writeConcern: { w: { a: 'b' } } })],
  [72, 'a write concern of a read', (_, run) => run({ count: 'things', writeConcern: { w: 1 } })],
  [14, 'cursors that are not longs', (_, run) => run({ killCursors: 'things', cursors: [1] })],
  [
    9,
    'array filters for a pipeline',
    (things) => things.updateOne({}, [{ $set: { a: 1 } }], { arrayFilters: [{ a: 1 }] }),
  ],
  [
    13103,
    'an index on too much',
    (things) =>
      things.createIndex(Object.fromEntries([...'abcdefghijklmnopqrstuvwxyzABCDEFG'].map((f) => [f, 1]))),
  ],
  [27, 'an index dropped twice', (_, run) => run({ dropIndexes: 'things', index: ['n_1', 'n_1'] })],
  [
    2,
    'a collation stronger than there is',
    (_, run) => aggregate(run, { collation: { locale: 'en', strength: 6 } }),
  ],
  [
    115,
    'a collation of letters of its own',
    (_, run) => aggregate(run, { collation: { locale: 'sv', strength: 1 } }),
  ],
  [28, 'a path through a number', update({ $set: { 'n.a': 1 } })],
  [40, 'two modifiers on one path', update({ $set: { 'a.b': 1 }, $inc: { a: 1 } })],
  [
    50,
    'more time than allowed',
    (things) =>
      things.find({ $expr: { $gt: [{ $size: { $range: [0, 20_000] } }, 0] } }, { maxTimeMS: 5 }).toArray(),
  ],
  [52, 'a field with a $', update({ $set: { $a: 1 } })],
  [66, 'another _id', update({ $set: { _id: 9 } }, { _id: 1 })],
  [
    66,
    'another _id in a replacement',
    (things) => things.replaceOne({ _id: 1 as never }, { _id: 9 as never }),
  ],
  [59, 'an unknown command', (_, run) => run({ frobnicate: 1 })],
  [115, 'a refused command', (_, run) => run({ mapReduce: 'things' })],
  [
    246,
    'a snapshot read outside a transaction',
    (_, run) => run({ find: 'things', readConcern: { level: 'snapshot' } }),
  ],
  [40324, 'an unknown stage', (things) => things.aggregate([{ $foo: 1 }]).toArray()],
  [40415, 'an unknown option', (_, run) => run({ find: 'things', foo: 1 })],
  [51024, 'a negative skip', (_, run) => run({ find: 'things', skip: -1 })],
  [51024, 'a negative limit', (_, run) => run({ find: 'things', limit: -5 })],
  [16, 'an empty batch', (_, run) => run({ insert: 'things', documents: [] })],
  [171, 'two arrays in one compound index', (things) => things.insertOne({ p: [1], q: [2] })],
]

describe('errors', () => {
  const engine = engineOfBlock()
  let things: Collection

  const run = async (command: Document): Promise<Document> => {
    const reply = await engine.db.command(command)
    if (reply.writeErrors) throw Object.assign(new Error(reply.writeErrors[0].errmsg), reply.writeErrors[0])
    return reply
  }

  before(async () => {
    things = engine.db.collection('things')
    await things.createIndex({ n: 1 })
    await things.createIndex({ p: 1, q: 1 })
    await things.insertOne({ _id: 1 as never, n: 1, name: 'a' })
    await things.insertMany(Array.from({ length: 600 }, (_, i) => ({ n: i + 2 })))
  })

  for (const [code, what, attempt] of attempts)
    it(`have code ${code} for ${what}`, async () => {
      await assert.rejects(attempt(things, run), (error: Document) => {
        assert.equal(error.code, code, error.message)
        assert.ok(error.message.length > 10, error.message)
        return true
      })
    })

  it("have MongoDB's names", async () => {
    await assert.rejects(engine.db.command({ listIndexes: 'nothing' }), { codeName: 'NamespaceNotFound' })
    await assert.rejects(engine.db.command({ find: 'things', skip: -1 }), { codeName: 'Location51024' })
    const [row] = (await engine.db.command({ insert: 'things', documents: [{ _id: 1 }] })).writeErrors
    assert.deepEqual(Object.keys(row), ['index', 'code', 'errmsg', 'keyPattern', 'keyValue'])
  })

  it('contain the words that Parse Server looks for when a missing collection is dropped (26)', async () => {
    await assert.rejects(engine.db.command({ drop: 'nothing' }), { message: 'ns not found' })
  })

  it('leave documents unchanged after a failed update', async () => {
    await assert.rejects(things.updateOne({ _id: 1 as never }, { $set: { fresh: 1 }, $inc: { name: 1 } }))
    assert.deepEqual(await things.findOne({ _id: 1 as never }), { _id: 1, n: 1, name: 'a' })
  })

  describe('that do not fit into a reply', function suite() {
    this.timeout(60_000)
    const isCutShort = (code: number) => (error: Document) => {
      assert.equal(error.code, code, error.message)
      assert.match(
        error.message,
        /^E11000 duplicate key error collection: test\.things index: name_1 dup key: /,
      )
      return true
    }
    const huge = { name: 'x'.repeat(9_000_000) }
    beforeEach(() => things.createIndex({ name: 1 }, { unique: true, sparse: true }))
    afterEach(() => things.dropIndex('name_1'))

    it('keep their codes for 100,000 failed statements', async () => {
      const name = 'x'.repeat(60)
      await things.insertOne({ name })
      const documents = Array.from({ length: 100_000 }, (_, i) => ({ _id: i + 10, name }))
      const reply = await engine.db.command(
        { insert: 'things', ordered: false, documents },
        { ignoreUndefined: true },
      )
      assert.equal(reply.n, 0)
      assert.deepEqual([...new Set(reply.writeErrors.map(({ code }: Document) => code))], [11000])
      assert.match(reply.writeErrors[0].errmsg, /index: name_1 dup key/)
    })

    it('keep their codes for a huge value', async () => {
      await things.insertOne({ ...huge })
      await assert.rejects(things.insertOne({ ...huge }), isCutShort(11000))
      await assert.rejects(things.findOneAndUpdate({ name: 'a' }, { $set: huge }), isCutShort(11000))
      await assert.rejects(things.createIndex({ name: 1, _id: 1 }, { name: 'name_1' }), { code: 86 })
    })
  })

  describe('in transactions', () => {
    const begin = (): ClientSession => {
      const session = engine.client.startSession()
      session.startTransaction()
      return session
    }
    const rejects = (attempt: Promise<unknown>, code: number) =>
      assert.rejects(attempt, (error: Document) => {
        assert.equal(error.code, code, error.message)
        assert.ok(error.hasErrorLabel('TransientTransactionError'))
        return true
      })

    it('are 112 and transient if two transactions write one document', async () => {
      const one = begin()
      const two = begin()
      await things.updateOne({ _id: 1 as never }, { $inc: { k: 1 } }, { session: one })
      await rejects(things.updateOne({ _id: 1 as never }, { $inc: { k: 1 } }, { session: two }), 112)
      await one.abortTransaction()
      await Promise.all([one.endSession(), two.endSession()])
      assert.equal((await things.findOne({ _id: 1 as never }))?.k, undefined)
    })

    it('are 251 and transient if the transaction has expired', async () => {
      const admin = engine.client.db('admin')
      await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: 1 })
      const session = begin()
      await things.insertOne({ late: 1 }, { session })
      await sleep(1_200)
      await admin.command({ setParameter: 1, transactionLifetimeLimitSeconds: 60 })
      await rejects(things.insertOne({ late: 1 }, { session }), 251)
      await session.endSession()
      assert.equal(await things.countDocuments({ late: 1 }), 0)
    })

    it('are 263 for $unionWith, also within another stage', async () => {
      const union = [{ $unionWith: 'others' }]
      for (const pipeline of [
        union,
        [{ $lookup: { from: 'others', pipeline: union, as: 'found' } }],
        [{ $facet: { found: union } }],
      ]) {
        const session = begin()
        await assert.rejects(things.aggregate(pipeline, { session }).toArray(), { code: 263 })
        await session.endSession()
      }
    })

    it('are 263 for a command that transactions do not allow', async () => {
      const session = begin()
      await assert.rejects(engine.db.command({ listCollections: 1 }, { session }), { code: 263 })
      await session.endSession()
    })

    it('are 246 and transient for a snapshot older than an index', async () => {
      const session = begin()
      await things.findOne({ _id: 1 as never }, { session })
      await things.createIndex({ later: 1 })
      await rejects(things.findOne({}, { session }), 246)
      await session.endSession()
    })
  })
})
