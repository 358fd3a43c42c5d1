import assert from 'node:assert/strict'
import { type Document, type Long, MongoClient } from 'mongodb'
import { readTimeColumns } from '../../records/charts/time-columns.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { databaseUri } from '../harness/run.ts'

const COUNT = 45_000
const COLLECTION = 'Weights'
const CURSOR_NOT_FOUND = { ok: 0, code: 43, codeName: 'CursorNotFound', errmsg: 'cursor id not found' }

describe('the columns of many values in a sharded cluster', () => {
  const routers = [startFaultyMongoForBlock(), startFaultyMongoForBlock()] as const
  let client: MongoClient

  before(async () => {
    for (const router of routers) {
      router.greeting = ({ hosts: _, setName: __, primary: ___, ...rest }) => ({ ...rest, msg: 'isdbgrid' })
      const cursors = new Set<string>()
      const open = (answer: Document) => {
        cursors.add(String(answer.cursor.id))
        return answer
      }
      // A mongos knows only its own cursors.
      router.findFault = ({ find, getMore }) => {
        if (find) return { change: open }
        if (getMore && !cursors.has(String(getMore as Long))) return { answer: CURSOR_NOT_FOUND }
        return undefined
      }
    }
    const [one, other] = routers.map(({ uri }) => new URL(uri).host)
    const { pathname } = new URL(databaseUri('columns'))
    client = new MongoClient(`mongodb://${one},${other}${pathname}`, { localThresholdMS: 60_000 })
    const collection = client.db().collection(COLLECTION)
    for (let position = 0; position < COUNT; position += 5_000)
      await collection.insertMany(
        Array.from({ length: 5_000 }, (_, i) => ({
          timestamp: new Date(position + i),
          weight: (position + i) % 100,
        })),
      )
  })
  after(() => client.close())

  it('are read to the end by the router that began', async () => {
    for (let round = 0; round < 5; round++) {
      const database = { client, db: client.db() }
      const { times, values } = await readTimeColumns(database, COLLECTION, [{}], ['weight'])
      assert.deepEqual([times.length, values.length], [COUNT, 1])
      assert.ok(times.every((time, i) => time === i && values[0]?.[i] === i % 100))
    }
  })
})
