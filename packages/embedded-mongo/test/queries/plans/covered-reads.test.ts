import assert from 'node:assert/strict'
import { BSON, type Collection, Decimal128, Double, Int32, Long } from 'mongodb'
import { engineOfBlock } from '../../../testing.ts'

const exact = { promoteValues: false } as const
const covered = { ...exact, projection: { _id: 0, n: 1 }, sort: { n: 1 } } as const

describe('covered reads', () => {
  const engine = engineOfBlock()
  let things: Collection
  beforeEach(async () => {
    await engine.db.dropDatabase()
    things = engine.db.collection('things')
    await things.createIndex({ n: 1 })
  })

  const values: [before: unknown, after: unknown][] = [
    [new Int32(1), new Double(1)],
    [new Int32(1), Long.fromNumber(1)],
    [new Int32(1), Decimal128.fromString('1.0')],
    [new Int32(0), new Double(-0)],
    [new Double(1.5), Decimal128.fromString('1.5')],
    ['a', new BSON.BSONSymbol('a')],
  ]
  for (const [before, after] of values) {
    const typeOf = (value: unknown) => (typeof value === 'string' ? 'String' : (value as Int32)._bsontype)
    it(`return a ${typeOf(after)} that replaced an equal ${typeOf(before)}`, async () => {
      await things.insertOne({ n: before })
      await things.updateOne({}, { $set: { n: after } })
      const [indexedThing] = await things.find({ n: { $gte: before } }, covered).toArray()
      assert.deepEqual(BSON.serialize(indexedThing ?? {}), BSON.serialize({ n: after }))
    })
  }

  it('return a value of another type that is written between two batches', async () => {
    await things.insertMany(Array.from({ length: 3000 }, (_, i) => ({ n: i })))
    const cursor = things.find({ n: { $gte: 0 } }, { ...covered, batchSize: 500 })
    assert.ok(await cursor.next())
    await things.updateOne({ n: 2999 }, { $set: { n: new Double(2999) } })
    assert.equal((await cursor.toArray()).at(-1)?.n._bsontype, 'Double')
  })

  it('count in a group in the type of the number that they add for each document', async () => {
    await things.insertMany([{ n: 1 }, { n: 1 }, { n: 2 }])
    for (const one of [1, new Double(1), Long.ONE, Decimal128.fromString('1')])
      for (const _id of ['$n', 1]) {
        const group = { $group: { _id, count: { $sum: one } } }
        const read = (hint: object) => things.aggregate([group], { ...exact, hint }).toArray()
        const counts = async (hint: object) =>
          (await read(hint)).map(({ _id: id, count }) => `${id} ${count._bsontype} ${count}`).sort()
        assert.deepEqual(await counts({ n: 1 }), await counts({ $natural: 1 }))
        const type = typeof one === 'number' ? 'Int32' : one._bsontype
        assert.match((await counts({ n: 1 }))[0] ?? '', new RegExp(` ${type} `))
      }
  })
})
