import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { startEngine, type TestEngine } from '@health-record-service/embedded-mongo/testing'
import { type Collection, MongoClient } from 'mongodb'
import { checkReads, type ReadCheck } from '../../../../records/store/reading/read-checks.ts'

interface Note {
  _id: number
  hidden: boolean
}

describe('the checks of reads', () => {
  let engine: TestEngine
  let client: MongoClient
  let notes: Collection<Note>
  let commands: Record<string, unknown>[] = []

  const limitTime: ReadCheck = ({ options }) => ({ options: { ...options, maxTimeMS: 1234 } })
  const hide: ReadCheck = ({ filter }) => ({ filter: { ...filter, hidden: false } })
  const refuseByText: ReadCheck = ({ collection }) => ({
    async beforeSending({ query }) {
      if (inspect(query, { depth: null }).includes('text')) throw new Error(`no text in ${collection}`)
    },
  })

  before(async () => {
    engine = await startEngine()
    client = new MongoClient(engine.uri, { monitorCommands: true })
    client.on('commandStarted', ({ command }) => commands.push(command))
    const db = client.db('checks')
    checkReads(db, [limitTime, hide, refuseByText])
    notes = db.collection<Note>('Note')
    await notes.insertMany([1, 2, 3, 4].map((_id) => ({ _id, hidden: _id > 2 })))
  })
  after(async () => {
    await client.close()
    await engine.stop()
  })
  beforeEach(() => {
    commands = []
  })

  const idsOf = (documents: { _id: number }[]) => documents.map(({ _id }) => _id)
  const READS: Record<string, [read: () => Promise<unknown>, expected: unknown]> = {
    find: [async () => idsOf(await notes.find().toArray()), [1, 2]],
    findOne: [() => notes.findOne({ _id: 3 }), null],
    countDocuments: [() => notes.countDocuments({ _id: { $gt: 1 } }), 1],
    'aggregate with $match': [
      async () => idsOf(await notes.aggregate<Note>([{ $match: { _id: { $gt: 1 } } }]).toArray()),
      [2],
    ],
    'aggregate without $match': [
      async () => idsOf(await notes.aggregate<Note>([{ $project: { _id: 1 } }]).toArray()),
      [1, 2],
    ],
    distinct: [() => notes.distinct('_id'), [1, 2]],
  }

  for (const [name, [read, expected]] of Object.entries(READS))
    it(`narrow and limit ${name}`, async () => {
      assert.deepEqual(await read(), expected)
      assert.deepEqual(
        commands.map(({ maxTimeMS }) => maxTimeMS),
        [1234],
      )
    })

  it('limit an estimated count', async () => {
    assert.equal(await notes.estimatedDocumentCount(), 4)
    assert.equal(commands[0]?.maxTimeMS, 1234)
  })

  it('see what a cursor sorts by, and refuse it before its command is sent', async () => {
    const expectedError = { message: 'no text in Note' }
    await assert.rejects(notes.find().sort({ text: 1 }).toArray(), expectedError)
    await assert.rejects(
      notes.aggregate([{ $group: { _id: '$x', text: { $max: 1 } } }]).toArray(),
      expectedError,
    )
    await assert.rejects(notes.distinct('text'), expectedError)
    assert.deepEqual(commands, [])
  })
})
