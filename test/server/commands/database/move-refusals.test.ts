import assert from 'node:assert/strict'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { databaseUri } from '../../../harness/run.ts'
import { newDataDir } from '../../../harness/service/process.ts'
import { move } from './move.ts'

/** What no service is needed for: the embedded engine alone has the data. */
describe('npm run move refuses', function suite() {
  this.timeout(60_000)
  const dataDir = newDataDir()
  const target = databaseUri('foreign')

  let running: { stop(): Promise<void> }
  before(async () => {
    const engine = await startEmbeddedMongo({ dataDir: join(dataDir, 'database') })
    const client = await MongoClient.connect(engine.uri)
    await client.db('health-record').collection('environment').insertOne({ kind: 'main' })
    await client.close()
    running = engine
  })

  it('data that a service has open', async () => {
    const { output } = await move(dataDir, target)
    await running.stop()
    assert.match(output, /is running on .*: stop it/)
  })

  it('a target that holds anything else', async () => {
    const client = await MongoClient.connect(target)
    await client.db().collection('patients').insertOne({ name: 'Ann' })
    await client.close()
    const { code, output } = await move(dataDir, target)
    assert.equal(code, 1)
    assert.match(output, /holds other data \(.*use an empty database/)
  })

  it('an address, and says what is wrong with it', async () => {
    assert.match((await move(dataDir, 'mongodb://127.0.0.1:1/')).output, /MONGODB_URI.*names a database/)
    const weak = await move(dataDir, 'mongodb://127.0.0.1:1/records?w=1')
    assert.equal(weak.code, 1)
    assert.match(weak.output, /MONGODB_URI/)
  })
})
