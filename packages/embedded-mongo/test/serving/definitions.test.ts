import assert from 'node:assert/strict'
import { Binary, type Collection, Decimal128, type Document, Long } from 'mongodb'
import { engineOfBlock } from '../../testing.ts'

const idIndex = { key: { _id: 1 }, name: '_id_' }

const changed = (index: Document): Document => ({ collMod: 'things', index: { name: 'at_1', ...index } })

const collated = (collation: Document): Document => ({ create: 'new', collation })

const inEnglish = { collation: { locale: 'en' } }

/** Invalid _id indexes, refused by create as well as createIndexes. */
const idRefusals: [code: number, what: string, spec: Document][] = [
  [9, 'without a key', { name: '_id_' }],
  [9, 'without a name', { key: { _id: 1 } }],
  [14, 'with a number for a name', { ...idIndex, name: 1 }],
  [67, 'without letters in its name', { ...idIndex, name: '' }],
  [2, 'that is descending', { ...idIndex, key: { _id: -1 } }],
  [2, 'of one and a half', { ...idIndex, key: { _id: 1.5 } }],
  [14, 'of a version that is not a number', { ...idIndex, v: '2' }],
  [67, 'of an unknown version', { ...idIndex, v: 3 }],
  [2, 'of half a version', { ...idIndex, v: 1.5 }],
  [197, 'that is unique', { ...idIndex, unique: true }],
  [197, 'that is not sparse', { ...idIndex, sparse: false }],
  [197, 'in the background', { ...idIndex, background: true }],
  [197, 'that expires', { ...idIndex, expireAfterSeconds: 1 }],
  [197, 'that is hidden', { ...idIndex, hidden: true }],
  [197, 'that is partial', { ...idIndex, partialFilterExpression: { a: 1 } }],
]

const refusals: [code: number, what: string, command: Document][] = [
  [2, 'an unknown validation level', { create: 'new', validationLevel: 'Off' }],
  [14, 'a validation action that is not a text', { collMod: 'things', validationAction: true }],
  [14, 'a validator that is not a document', { collMod: 'things', validator: false }],
  [115, 'a validator', { collMod: 'things', validator: { a: 1 } }],
  [14, 'invalid options of a storage engine', { create: 'new', storageEngine: 1 }],
  [115, 'options of a storage engine', { create: 'new', storageEngine: { wiredTiger: {} } }],
  [115, 'a cluster of nothing', { create: 'new', clusteredIndex: null }],
  [40414, 'a collation without a locale', collated({})],
  [14, 'a collation with a number for a boolean', collated({ locale: 'en', normalization: 1 })],
  [14, 'a collation with nothing for backwards', collated({ locale: 'en', backwards: null })],
  [2, 'a collation with an unknown choice', collated({ locale: 'en', alternate: 'some' })],
  [161, 'a collation of another version', collated({ locale: 'en', version: '58' })],
  [40415, 'a collation with an unknown option', collated({ locale: 'en', Strength: 1 })],
  [14, 'an invalid _id index', { create: 'new', idIndex: [idIndex] }],
  [2, 'an _id index of another field', { create: 'new', idIndex: { ...idIndex, key: { x: 1 } } }],
  [2, 'an _id index of hashes', { create: 'new', idIndex: { ...idIndex, key: { _id: 'hashed' } } }],
  [2, 'an _id index in another order', { create: 'new', idIndex: { ...idIndex, ...inEnglish } }],
  [
    67,
    'an index of _id in another order',
    { createIndexes: 'things', indexes: [{ ...idIndex, ...inEnglish }] },
  ],
  [
    2,
    'an index of twice the _id with its name',
    { createIndexes: 'things', indexes: [{ ...idIndex, key: { _id: 2 } }] },
  ],
  [72, 'a change of no index', { collMod: 'things', index: { hidden: true } }],
  [72, 'a change of an index named twice', changed({ keyPattern: { at: 1 }, hidden: true })],
  [72, 'no change of an index', changed({ hidden: null })],
  [40415, 'an unknown change of an index', changed({ sparse: true })],
  [14, 'a time to live without a number', changed({ expireAfterSeconds: true })],
  [72, 'a negative time to live', changed({ expireAfterSeconds: -1 })],
  [72, 'a time to live of _id', { collMod: 'things', index: { name: '_id_', expireAfterSeconds: 1 } }],
  [27, 'a change of an index that is not there', { collMod: 'things', index: { name: 'n', hidden: true } }],
  [115, 'an index made unique afterwards', changed({ prepareUnique: true })],
  [40414, 'dropping a database, and nothing', { dropDatabase: null }],
  [14, 'dropping a database, and true', { dropDatabase: true }],
  [5255100, 'dropping two databases', { dropDatabase: 2 }],
  [40415, 'dropping with an unknown option', { drop: 'things', force: true }],
  [72, 'a definition with a read concern', { create: 'new', readConcern: { level: 'majority' } }],
  [72, 'a list with a write concern', { listCollections: 1, writeConcern: { w: 1 } }],
  [14, 'names only, and 1', { listCollections: 1, nameOnly: 1 }],
  [14, 'databases that may be seen, and 1', { listDatabases: 1, authorizedDatabases: 1 }],
]

describe('definitions', () => {
  const engine = engineOfBlock()
  let things: Collection

  const run = (command: Document) => engine.db.command(command)
  const asAdmin = (command: Document) => engine.client.db('admin').command(command)
  const rename = (to: string, dropTarget?: unknown) =>
    asAdmin({ renameCollection: things.namespace, to, ...(dropTarget === undefined ? {} : { dropTarget }) })

  before(async () => {
    things = engine.db.collection('things')
    await things.createIndex({ at: 1 }, { expireAfterSeconds: 100 })
  })

  for (const [code, what, command] of refusals)
    it(`are refused with code ${code}: ${what}`, async () => {
      const onDatabase = command.listDatabases ? asAdmin : run
      await assert.rejects(onDatabase(command), { code })
      assert.deepEqual(await engine.db.listCollections({ name: 'new' }).toArray(), [])
    })

  for (const [code, what, idIndex] of idRefusals)
    it(`are refused with code ${code}: an _id index ${what}`, async () => {
      await assert.rejects(run({ create: 'new', idIndex }), { code })
      await assert.rejects(run({ createIndexes: 'new', indexes: [idIndex] }), { code })
    })

  it("cannot be dropped or renamed in the server's own databases", async () => {
    await assert.rejects(asAdmin({ dropDatabase: 1 }), { code: 20 })
    for (const to of ['test.system.js', 'local.oplog.rs']) await assert.rejects(rename(to), { code: 20 })
  })

  it('may not differ from another database by case alone', async () => {
    await assert.rejects(engine.client.db('TEST').createCollection('new'), { code: 13297 })
    await assert.rejects(rename('Test.things'), { code: 13297 })
    assert.equal((await engine.db.listCollections({ name: 'things' }).toArray()).length, 1)
  })

  it('accept only a boolean dropTarget in renameCollection', async () => {
    for (const value of [1, 'yes', null]) await assert.rejects(rename('test.other', value), { code: 14 })
    const uuid = (length: number) => new Binary(Buffer.alloc(length), Binary.SUBTYPE_UUID)
    await assert.rejects(rename('test.other', uuid(15)), { code: 207 })
    await assert.rejects(rename('test.other', uuid(16)), { code: 115 })
  })

  it('may repeat the _id index', async () => {
    const writtenOut = {
      key: { _id: 1 },
      name: 'mine',
      v: 2,
      ns: 'test.written',
      collation: { locale: 'simple' },
    }
    await run({ create: 'written', idIndex: writtenOut, validationLevel: 'off', storageEngine: {} })
    const { note } = await run({ createIndexes: 'written', indexes: [writtenOut] })
    assert.equal(note, 'all indexes already exist')
    await run({ createIndexes: 'written', indexes: [{ key: { _id: 2 }, name: 'another', sparse: true }] })
    assert.deepEqual(
      (await engine.db.collection('written').indexes()).map(({ name }) => name),
      ['_id_', 'another'],
    )
  })

  it('can change in an index, and the response has their former values', async () => {
    const change = async (index: Document) => {
      const { ok: _, $clusterTime: __, operationTime: ___, ...answer } = await run(changed(index))
      return answer
    }
    assert.deepEqual(await change({ expireAfterSeconds: Decimal128.fromString('50.5'), hidden: true }), {
      expireAfterSeconds_old: 100,
      expireAfterSeconds_new: 50,
      hidden_old: false,
      hidden_new: true,
    })
    const changedIndex = (await things.indexes()).find(({ name }) => name === 'at_1')
    assert.deepEqual([changedIndex?.expireAfterSeconds, changedIndex?.hidden], [50, true])
    assert.deepEqual(await change({ hidden: 1 }), {})
    assert.deepEqual(await change({ hidden: false, expireAfterSeconds: Number.NaN }), {
      expireAfterSeconds_old: 50,
      expireAfterSeconds_new: 0,
      hidden_old: true,
      hidden_new: false,
    })
    assert.deepEqual(await change({ expireAfterSeconds: Long.fromString('9000000000') }), {
      expireAfterSeconds_old: 0,
      expireAfterSeconds_new: 2 ** 31 - 1,
    })
  })

  it('are listed and filtered by the fields that the list shows', async () => {
    const names = async (filter: Document) =>
      (await engine.db.listCollections({ name: 'things', ...filter }, { nameOnly: true }).toArray()).length
    assert.deepEqual([await names({ options: {} }), await names({ options: { $exists: false } })], [0, 1])
    const { cursor } = await run({ listCollections: 1, filter: { name: 'things' }, cursor: { batchSize: 1 } })
    assert.equal(Number(cursor.id), 0)
    const tiny = Decimal128.fromString('1E-6176')
    const { databases } = await asAdmin({ listDatabases: 1, nameOnly: tiny, filter: { sizeOnDisk: 0 } })
    assert.deepEqual(databases, [])
    const { totalSize } = await engine.client
      .db('admin')
      .command({ listDatabases: 1 }, { promoteLongs: false })
    assert.ok(totalSize instanceof Long)
  })

  it('end at their time limit while a transaction has claimed the collection', async () => {
    const session = engine.client.startSession()
    try {
      session.startTransaction()
      await things.insertOne({ at: 1 }, { session })
      const commands: Document[] = [
        changed({ hidden: true }),
        { createIndexes: 'things', indexes: [{ key: { x: 1 }, name: 'x_1' }] },
        { dropIndexes: 'things', index: 'at_1' },
        { drop: 'things' },
        { dropDatabase: 1 },
      ]
      for (const command of commands)
        await assert.rejects(run({ ...command, maxTimeMS: 50 }), { code: 50 }, JSON.stringify(command))
      const renaming = { renameCollection: 'test.things', to: 'test.others', maxTimeMS: 50 }
      await assert.rejects(asAdmin(renaming), { code: 50 })
      await session.commitTransaction()
    } finally {
      await session.endSession()
    }
    assert.equal(await things.countDocuments({ at: 1 }), 1)
  })

  it('let an insert and an upsert create the collection that a drop removes meanwhile', async () => {
    const shortLived = engine.db.collection<{ _id: number }>('short_lived')
    for (let i = 0; i < 300; i++) {
      await shortLived.insertOne({ _id: -1 })
      const [, inserted, upserted] = await Promise.all([
        shortLived.drop(),
        shortLived.insertOne({ _id: 1 }),
        shortLived.updateOne({ _id: 2 }, { $set: { a: 1 } }, { upsert: true }),
      ])
      assert.deepEqual([inserted.insertedId, upserted.upsertedCount], [1, 1])
      await shortLived.drop().catch(() => {})
    }
  })
})
