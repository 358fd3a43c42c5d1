import assert from 'node:assert/strict'
import { startEngine, type TestEngine } from '@health-record-service/embedded-mongo/testing'
import { type Collection, MongoClient } from 'mongodb'
import type { ParseDocument } from '../../../../records/store/documents/parse-format.ts'
import { DocumentLookup } from '../../../../records/store/reading/document-lookup.ts'

const READ = { without: [], session: undefined }

describe('a lookup of documents', () => {
  let engine: TestEngine
  let client: MongoClient
  let documents: Collection<ParseDocument>
  let lookup: DocumentLookup
  let queries: Record<string, unknown>[] = []

  before(async () => {
    engine = await startEngine()
    client = new MongoClient(engine.uri, { monitorCommands: true })
    client.on('commandStarted', ({ commandName, command }) => {
      if (commandName === 'find') queries.push(command)
    })
    documents = client.db('lookups').collection<ParseDocument>('Note')
    const fields = { version: 1, _created_at: new Date(), _updated_at: new Date(), _wperm: [] }
    const ids = Array.from({ length: 120 }, (_, i) => `n${i}`)
    await documents.insertMany(ids.map((_id) => ({ ...fields, _id, _rperm: ['a'], text: `text of ${_id}` })))
    lookup = new DocumentLookup(documents)
  })
  after(async () => {
    await client.close()
    await engine.stop()
  })
  beforeEach(() => {
    queries = []
  })

  const find = (id: string, reader = 'a', without: string[] = []) =>
    lookup.find({ id, filter: { _id: id, _rperm: reader } }, { ...READ, without })

  it('shares a query between concurrent callers, each with its own conditions', async () => {
    const foundDocuments = await Promise.all([find('n1'), find('n2', 'b'), find('n3'), find('none')])
    assert.deepEqual(
      foundDocuments.map((one) => one?._id),
      ['n1', undefined, 'n3', undefined],
    )
    assert.equal(queries.length, 1)
  })

  it('asks for a single document without alternatives', async () => {
    assert.equal((await find('n1'))?._id, 'n1')
    assert.deepEqual(
      queries.map(({ filter }) => filter),
      [{ _id: 'n1', _rperm: 'a' }],
    )
  })

  it('leaves fields out only for the callers that ask for it', async () => {
    const [whole, part] = await Promise.all([find('n1'), find('n1', 'a', ['text', 'version'])])
    assert.equal(whole?.text, 'text of n1')
    assert.ok(part && !('text' in part) && !('version' in part))
  })

  it('sends at most 50 lookups per query', async () => {
    const ids = Array.from({ length: 120 }, (_, i) => `n${i}`)
    const foundDocuments = await Promise.all(ids.map((id) => find(id)))
    assert.deepEqual(
      foundDocuments.map((one) => one?._id),
      ids,
    )
    assert.deepEqual(
      queries.map(({ filter }) => (filter as { $or: unknown[] }).$or.length),
      [50, 50, 20],
    )
  })

  it('gives a caller with many roles a query of its own', async () => {
    const roles = ['a', ...Array.from({ length: 200 }, (_, i) => `role${i}`)]
    const findForRoles = (id: string, count: number) =>
      lookup.find({ id, filter: { _id: id, _rperm: { $in: roles.slice(0, count) } } }, READ)
    const calls = [findForRoles('n1', 200), findForRoles('n2', 200), findForRoles('n3', 201)]
    assert.deepEqual(
      (await Promise.all(calls)).map((one) => one?._id),
      ['n1', 'n2', 'n3'],
    )
    assert.equal(queries.length, 2)
  })

  it('reads within a transaction by itself', async () => {
    const session = client.startSession()
    await session.withTransaction(async () => {
      const selector = { id: 'n1', filter: { _id: 'n1' } }
      const foundDocuments = await Promise.all([lookup.find(selector, { without: [], session }), find('n2')])
      assert.deepEqual(
        foundDocuments.map((one) => one?._id),
        ['n1', 'n2'],
      )
    })
    await session.endSession()
    assert.equal(queries.length, 2)
  })
})
