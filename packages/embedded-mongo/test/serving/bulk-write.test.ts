import assert from 'node:assert/strict'
import {
  type AnyClientBulkWriteModel,
  type Document,
  MongoClientBulkWriteError,
  MongoServerError,
} from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

interface Thing {
  _id: string | number
  n?: number
}

describe('bulkWrite', () => {
  const engine = engineOfBlock()
  beforeEach(async () => {
    await engine.db.dropDatabase()
    await engine.db.collection<Thing>('a').insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 2 },
    ])
  })

  const readAll = (name: string) => engine.db.collection<Thing>(name).find().sort({ _id: 1 }).toArray()
  const inNamespace = (name: string) => `${engine.db.databaseName}.${name}`
  /** The driver's type expects an ObjectId. */
  const castModels = (models: object[]) => models as AnyClientBulkWriteModel<Document>[]
  const models = () =>
    castModels([
      { namespace: inNamespace('b'), name: 'insertOne', document: { _id: 'x', n: 5 } },
      { namespace: inNamespace('a'), name: 'updateOne', filter: { _id: 1 }, update: { $inc: { n: 1 } } },
      {
        namespace: inNamespace('a'),
        name: 'replaceOne',
        filter: { _id: 3 },
        replacement: { n: 3 },
        upsert: true,
      },
      { namespace: inNamespace('a'), name: 'deleteMany', filter: { n: 2, _id: 2 } },
    ])

  it('writes to several collections and counts what it did', async () => {
    const result = await engine.client.bulkWrite(models(), { verboseResults: true })
    const { insertedCount, matchedCount, modifiedCount, upsertedCount, deletedCount } = result
    assert.deepEqual(
      [insertedCount, matchedCount, modifiedCount, upsertedCount, deletedCount],
      [1, 1, 1, 1, 1],
    )
    assert.equal(result.updateResults?.get(2)?.upsertedId, 3)
    assert.deepEqual(await readAll('a'), [
      { _id: 1, n: 2 },
      { _id: 3, n: 3 },
    ])
    assert.deepEqual(await readAll('b'), [{ _id: 'x', n: 5 }])
  })

  it('ends an ordered bulk at the first error and continues an unordered one', async () => {
    const repeated = castModels([
      { namespace: inNamespace('a'), name: 'insertOne', document: { _id: 1 } },
      { namespace: inNamespace('b'), name: 'insertOne', document: { _id: 'y' } },
    ])
    const codeOf = async (ordered: boolean) => {
      const error = await engine.client.bulkWrite(repeated, { ordered }).catch((one: unknown) => one)
      assert.ok(error instanceof MongoClientBulkWriteError)
      return error.writeErrors.get(0)?.code
    }
    assert.equal(await codeOf(true), 11_000)
    assert.deepEqual(await readAll('b'), [])
    assert.equal(await codeOf(false), 11_000)
    assert.deepEqual(await readAll('b'), [{ _id: 'y' }])
  })

  it('belongs to a transaction, whose end decides about all of it', async () => {
    for (const ending of ['abortTransaction', 'commitTransaction'] as const) {
      const session = engine.client.startSession()
      session.startTransaction()
      await engine.client.bulkWrite(models(), { session })
      assert.equal((await readAll('b')).length, 0)
      await session[ending]()
      await session.endSession()
      assert.equal((await readAll('b')).length, ending === 'commitTransaction' ? 1 : 0)
    }
  })

  it('conflicts with another transaction that wrote the same document', async () => {
    const first = engine.client.startSession()
    const second = engine.client.startSession()
    for (const session of [first, second]) session.startTransaction()
    await engine.client.bulkWrite(models(), { session: first })
    const error = await engine.client.bulkWrite(models(), { session: second }).catch((one: unknown) => one)
    const { cause } = error as MongoClientBulkWriteError
    assert.ok(cause instanceof MongoServerError)
    assert.equal(cause.code, 112)
    assert.ok(cause.hasErrorLabel('TransientTransactionError'))
    await Promise.all([first.endSession(), second.endSession()])
  })

  it('ends its transaction at a duplicate key, which its reply names like one outside', async () => {
    for (const ordered of [true, false]) {
      const session = engine.client.startSession()
      session.startTransaction()
      const repeated = castModels([
        { namespace: inNamespace('b'), name: 'insertOne', document: { _id: 'x' } },
        { namespace: inNamespace('a'), name: 'insertOne', document: { _id: 1 } },
        { namespace: inNamespace('b'), name: 'insertOne', document: { _id: 'y' } },
      ])
      const error = await engine.client
        .bulkWrite(repeated, { session, ordered })
        .catch((one: unknown) => one as MongoClientBulkWriteError)
      assert.ok(error instanceof MongoClientBulkWriteError)
      assert.deepEqual([[...error.writeErrors.keys()], error.writeErrors.get(1)?.code], [[1], 11_000])
      await assert.rejects(session.commitTransaction(), { code: 251 })
      await session.endSession()
    }
    assert.deepEqual(await readAll('b'), [])
  })

  it('refuses several databases, unknown operations and other databases than admin', async () => {
    const send = (command: object, db = 'admin') =>
      engine.client.db(db).command({ bulkWrite: 1, nsInfo: [{ ns: inNamespace('a') }], ...command })
    const operation = { insert: 0, document: { _id: 9 } }
    const elsewhere = { nsInfo: [{ ns: inNamespace('a') }, { ns: 'other.a' }], ops: [operation] }
    await assert.rejects(send(elsewhere), { code: 115 })
    await assert.rejects(send({ ops: [{ merge: 0 }] }), { code: 40415 })
    await assert.rejects(send({ ops: [{ ...operation, insert: 1 }] }), { code: 2 })
    await assert.rejects(send({ ops: [operation] }, 'test'), { code: 13 })
    assert.equal((await send({ ops: [operation] })).nInserted, 1)
  })
})
