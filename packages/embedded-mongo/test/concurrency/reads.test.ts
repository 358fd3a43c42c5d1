import assert from 'node:assert/strict'
import type { Collection, Document } from 'mongodb'
import { engineOfBlock, manyThings } from '../../testing.ts'

describe('reads during writes', function suite() {
  this.timeout(60_000)
  const engine = engineOfBlock()
  let things: Collection

  it('return no document that stopped to match while others were sorted before it', async () => {
    things = await manyThings(engine, 1000)
    for (const batchSize of [1, 10]) {
      await things.updateMany({}, { $set: { isOpen: true } })
      const cursor = things.find({ isOpen: true }, { batchSize, sort: { text: 1, i: 1 } })
      assert.ok(await cursor.next())
      await things.updateMany({ i: { $gte: 500 } }, { $set: { isOpen: false } })
      const rest = await cursor.toArray()
      assert.deepEqual(
        rest.filter(({ isOpen }) => !isOpen),
        [],
      )
    }
  })

  it('find a document while another one stops to match that would be sorted before it', async () => {
    things = await manyThings(engine, 10_000)
    await things.updateMany({}, { $set: { isOpen: true } })
    let isOver = false
    const change = async () => {
      for (let i = 0; !isOver; i++)
        await things.updateOne({ _id: 0 as never }, { $set: { isOpen: i % 2 === 0 } })
    }
    const changing = change()
    for (let round = 0; round < 20; round++) {
      const openThing = await things.findOne({ isOpen: true }, { sort: { text: 1, i: 1 } })
      assert.ok(openThing?.i <= 1, `found ${openThing?.i}`)
    }
    isOver = true
    await changing
  })

  for (const [name, filter] of Object.entries<Document>({
    'decides alone': {},
    'narrows the search': { text: 'x' },
  }))
    it(`unwind only elements that match, if an index ${name}`, async () => {
      await engine.db.dropDatabase()
      things = engine.db.collection('things')
      const count = 3000
      const elements = (f: number) => [{ f }, { f: f + 1 }]
      await things.insertMany(
        Array.from({ length: count }, (_, i) => ({ _id: i as never, text: 'x', e: elements(i) })),
      )
      await things.createIndex({ 'e.f': 1 })
      let isOver = false
      const change = async () => {
        for (let i = 0; !isOver; i = (i + 1) % 2)
          await things.updateMany({}, [
            { $set: { e: { $map: { input: '$e', in: { f: { $multiply: ['$$this.f', -1] } } } } } },
          ])
      }
      const changes = [change(), change()]
      const pipeline = [{ $match: filter }, { $unwind: '$e' }, { $match: { 'e.f': { $gt: 1 } } }]
      for (let round = 0; round < 10; round++)
        for (const { e } of await things.aggregate(pipeline).toArray()) assert.ok(e?.f > 1, `found ${e?.f}`)
      isOver = true
      await Promise.all(changes)
    })
})
