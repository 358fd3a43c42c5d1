import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { isDeepStrictEqual, promisify } from 'node:util'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { type Engine, startEngine } from '@health-record-service/embedded-mongo/testing'
import { type Db, type Document, MongoClient } from 'mongodb'
import { type FaultyMongo, startFaultyMongo } from '../../../harness/faulty-mongo/faulty-mongo.ts'
import { clientOf, startServing, stopProcess } from '../../../harness/service/process.ts'

describe('npm run move', function suite() {
  this.timeout(60_000)
  let dataDir: string
  let target: Engine
  let proxy: FaultyMongo
  const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }

  before(async () => {
    const service = await startServing()
    dataDir = service.dataDir
    const { status } = await clientOf(service)('/1/users', { ...account, termsAccepted: true })
    assert.equal(status, 201)
    assert.match((await run('records')).output, /is running on .*: stop it/)
    await stopProcess(service)
    await inSource(async (db) => {
      // More than are sent at a time, and types that a copy could lose.
      const { Long, Double, Decimal128, ObjectId } = await import('mongodb')
      const one = { long: Long.fromNumber(1), double: new Double(1), decimal: Decimal128.fromString('1.0') }
      await db.insertMany(
        Array.from({ length: 2500 }, (_, i) => ({ ...one, _id: i % 2 ? i : new ObjectId() }) as object),
      )
    })
    target = await startEngine()
    proxy = await startFaultyMongo(target.uri)
  })
  after(async () => {
    await proxy.close()
    await target.stop()
  })

  async function inSource(
    work: (custom: ReturnType<ReturnType<MongoClient['db']>['collection']>) => Promise<void>,
  ) {
    const engine = await startEmbeddedMongo({ dataDir: `${dataDir}/database` })
    const client = await MongoClient.connect(engine.uri)
    await work(client.db('health-record').collection('Custom'))
    await client.close()
    await engine.stop()
  }

  const run = (database: string, uri = proxy?.uri ?? 'mongodb://127.0.0.1:1') =>
    promisify(execFile)(
      process.execPath,
      ['dist/server/commands/move.js', '--to', `${uri}/${database}?serverSelectionTimeoutMS=2000`],
      { env: { PATH: process.env.PATH, DATA_DIR: dataDir } },
    ).then(
      ({ stdout }) => ({ code: 0, output: stdout }),
      ({ code, stderr }) => ({ code, output: stderr as string }),
    )

  it('copies everything, indexes and all, and goes on where it was interrupted', async () => {
    let inserts = 0
    const sent: Document[] = []
    const count = (command: Document) => {
      if (command.insert === 'Custom') sent.push(command)
      return command.insert !== undefined && ++inserts
    }
    proxy.fault = (command) => (count(command) && sent.length > 1 ? { cut: 'before' } : undefined)
    const interrupted = await run('records')
    assert.equal(interrupted.code, 1)
    const db = target.client.db('records')
    assert.equal(await db.collection('Custom').countDocuments(), 1000)
    assert.equal(await db.collection('environment').countDocuments(), 0)
    sent.length = 0
    proxy.fault = (command) => void count(command)
    const { code, output } = await run('records')
    assert.equal(code, 0, output)
    assert.match(output, /^Custom: 2500, [0-9a-f]{64}$/m)
    assert.deepEqual(
      sent.map(({ documents }) => documents.length),
      [1000, 500],
    )
    assert.equal(await db.collection('_User').countDocuments({ username: account.username }), 1)
    await assertSameIndexes()
    assert.ok(!(await db.listCollections().toArray()).some(({ name }) => name === 'copy.underway'))
  })

  async function assertSameIndexes(): Promise<void> {
    const engine = await startEmbeddedMongo({ dataDir: `${dataDir}/database` })
    const client = await MongoClient.connect(engine.uri)
    const [source, copy] = [client.db('health-record'), target.client.db('records')]
    const indexesOf = async (db: Db, name: string) =>
      (await db.collection(name).listIndexes().toArray()).sort((a, b) => (a.name < b.name ? -1 : 1))
    const names = (await source.listCollections().toArray()).map(({ name }) => name)
    const differing: string[] = []
    for (const name of names) {
      const [wanted, found] = [await indexesOf(source, name), await indexesOf(copy, name)]
      if (!isDeepStrictEqual(wanted, found)) differing.push(name)
    }
    await client.close()
    await engine.stop()
    assert.deepEqual(differing, [])
    assert.ok(names.length > 20)
  }

  it('is what a service starts on', async () => {
    const service = await startServing({ DATA_DIR: dataDir, MONGODB_URI: `${target.uri}/records` })
    const { status } = await clientOf(service)('/1/users', { ...account, termsAccepted: true })
    assert.equal(status, 201)
    await stopProcess(service)
  })

  it('refuses a target that holds anything else', async () => {
    await target.client.db('foreign').collection('patients').insertOne({ name: 'Ann' })
    for (const database of ['foreign', 'records']) {
      const { code, output } = await run(database)
      assert.equal(code, 1)
      assert.match(output, /holds other data \(.*use an empty database/)
    }
  })

  it('says what is wrong with the address', async () => {
    assert.match((await run('')).output, /MONGODB_URI.*names a database/)
    const weak = await run('records?w=1')
    assert.equal(weak.code, 1)
    assert.match(weak.output, /MONGODB_URI/)
  })
})
