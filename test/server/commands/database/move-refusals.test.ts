import assert from 'node:assert/strict'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { runMoveCommand } from '../../../../server/commands/move.ts'
import { runCommand } from '../../../harness/in-process/run-command.ts'
import { databaseUri } from '../../../harness/run.ts'
import { createDataDir } from '../../../harness/service/service-process.ts'
import { move } from './move.ts'

/** Refusals without a service: only the embedded engine has the data open. */
describe('npm run move refuses', function suite() {
  this.timeout(60_000)
  const dataDir = createDataDir()
  const target = databaseUri('foreign')

  let running: { stop(): Promise<void> }
  before(async () => {
    const engine = await startEmbeddedMongo({ dataDir: join(dataDir, 'database') })
    const client = await MongoClient.connect(engine.uri)
    await client.db('health-record').collection('environment').insertOne({ kind: 'main' })
    await client.close()
    running = engine
  })

  it('data that a service uses', async () => {
    const { output } = await move(dataDir, target)
    await running.stop()
    assert.match(output, /is running on .*\. Stop it/)
  })

  it('a target that is not empty', async () => {
    const client = await MongoClient.connect(target)
    await client.db().collection('patients').insertOne({ name: 'Ann' })
    await client.close()
    const { code, output } = await move(dataDir, target)
    assert.equal(code, 1)
    assert.match(output, /contains other data \(.*Use an empty database/)
  })

  it('a wrong URI, and explains the fault', async () => {
    assert.match(
      (await move(dataDir, 'mongodb://127.0.0.1:1/')).output,
      /^--to must be .* names a database$/m,
    )
    const weak = await move(dataDir, 'mongodb://127.0.0.1:1/records?w=1')
    assert.equal(weak.code, 1)
    assert.match(weak.output, /^--to must not contain w:/)
    const weakVariable = { DATA_DIR: dataDir, MONGODB_URI: 'mongodb://127.0.0.1:1/records?w=1' }
    assert.match(
      (await runCommand(runMoveCommand, [], weakVariable)).output,
      /^MONGODB_URI must not contain w:/,
    )
    assert.match(
      (await runCommand(runMoveCommand, [], { DATA_DIR: dataDir })).output,
      /^MONGODB_URI or --to is required\./,
    )
  })
})
