import assert from 'node:assert/strict'
import { appendFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { runBackupCommand } from '../../../../server/commands/backup.ts'
import { runCommand, runCommandProcess } from '../../../harness/in-process/run-command.ts'
import {
  createDataDir,
  createProcessClient,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../../harness/service/service-process.ts'

describe('npm run backup and npm run restore', function suite() {
  this.timeout(60_000)
  let service: ServiceProcess
  const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }
  const [copy, target] = [join(createDataDir(), 'copy'), createDataDir()]

  before(async () => {
    service = await startServiceProcess()
    const { status } = await createProcessClient(service)('/1/users', { ...account, termsAccepted: true })
    assert.equal(status, 201)
  })
  after(() => stopProcess(service))

  const run = (...args: string[]) => runCommand(runBackupCommand, args, { DATA_DIR: service.dataDir })

  it('copies the data of a running service, once', async () => {
    const { code, stdout, output } = await runCommandProcess(['backup', copy], { DATA_DIR: service.dataDir })
    assert.equal(code, 0, output)
    assert.match(
      stdout,
      /^Backup of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC written to .* \([\d.]+ [KM]iB, SHA-256 [0-9a-f]{64}\)\.\n$/,
    )
    assert.match((await run('backup', copy)).output, /is not empty/)
  })

  it('restores a copy into a new data directory, and refuses an altered one', async () => {
    const { code, output } = await run('restore', copy, target)
    assert.equal(code, 0, output)
    assert.match((await run('restore', copy, target)).output, /is not empty/)
    const changed = join(createDataDir(), 'changed')
    cpSync(copy, changed, { recursive: true })
    appendFileSync(join(changed, 'data.mdb'), 'x')
    assert.match((await run('restore', changed, createDataDir())).output, /is damaged/)
  })

  it('leaves out no file', async () => {
    const engine = await startEmbeddedMongo({ dataDir: join(target, 'database') })
    const client = await MongoClient.connect(engine.uri)
    const users = client.db('health-record').collection('_User')
    assert.equal(await users.countDocuments({ username: account.username }), 1)
    await client.close()
    await engine.stop()
  })
})
