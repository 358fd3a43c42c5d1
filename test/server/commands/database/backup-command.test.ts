import assert from 'node:assert/strict'
import { appendFileSync, cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EmbeddedMongo, restoreBackup, startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { MongoClient } from 'mongodb'
import { runBackupCommand } from '../../../../server/commands/backup.ts'
import { runCommand, runCommandProcess } from '../../../harness/in-process/run-command.ts'
import { createDataDir } from '../../../harness/service/service-process.ts'
import { createReleasedDataDir, latestVersion } from '../../../upgrade/released-data.ts'
import { EMAIL } from '../../../upgrade/sample-data.ts'

describe('npm run backup and npm run restore', function suite() {
  this.timeout(60_000)
  const dataDir = createReleasedDataDir(latestVersion)
  let running: EmbeddedMongo
  const copy = join(createDataDir(), 'copy')
  const target = createDataDir()

  // The command asks the engine of the running service; file-modes.test.ts starts a service.
  before(async () => {
    running = await startEmbeddedMongo({ dataDir: join(dataDir, 'database') })
  })
  after(() => running.stop())

  const run = (...args: string[]) => runCommand(runBackupCommand, args, { DATA_DIR: dataDir })

  it('copies the data of a running service, once', async () => {
    const { code, stdout, output } = await runCommandProcess(['backup', copy], { DATA_DIR: dataDir })
    assert.equal(code, 0, output)
    assert.match(
      stdout,
      /^Backup of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC written to .* \([\d.]+ [KM]iB, SHA-256 [0-9a-f]{64}\)\.\n$/,
    )
    assert.match(
      (await run('backup', copy)).output,
      /: it contains the finished backup of \d{4}-\d\d-\d\dT[\d:.]+Z$/m,
    )
  })

  it('restores a copy into a new data directory, and refuses an altered one', async () => {
    const { code, output } = await run('restore', copy, target)
    assert.equal(code, 0, output)
    const changed = join(createDataDir(), 'changed')
    cpSync(copy, changed, { recursive: true })
    appendFileSync(join(changed, 'data.mdb'), 'x')
    assert.match((await run('restore', changed, createDataDir())).output, /is damaged/)
  })

  it('continues a restore that was interrupted after the copy, and overwrites no other database', async () => {
    const interrupted = createDataDir()
    await restoreBackup(copy, join(interrupted, 'database'))
    const { code, output } = await run('restore', copy, interrupted)
    assert.equal(code, 0, output)
    assert.match(output, /^Restored and verified/m)
    appendFileSync(join(interrupted, 'database', 'data.mdb'), 'x')
    assert.match((await run('restore', copy, interrupted)).output, /is not empty/)
  })

  it('refuses directories that it cannot create, and the service stays available', async () => {
    const file = join(createDataDir(), 'file')
    writeFileSync(file, '')
    for (const path of ['/proc/copy', '/proc/a/copy', file, join(file, 'copy')]) {
      assert.match(
        (await run('backup', path)).output,
        /^cannot write to .*: .* (created|is a file.*)$/m,
        path,
      )
      assert.match(
        (await run('restore', copy, path)).output,
        /^cannot write to .*: .* (created|is a file.*)$/m,
        path,
      )
    }
    const { code, output } = await run('backup', join(createDataDir(), 'later'))
    assert.equal(code, 0, output)
  })

  it('names the file of a backup that cannot be read', async () => {
    const broken = join(createDataDir(), 'broken')
    cpSync(copy, broken, { recursive: true })
    for (const receipt of ['{ "', 'null', '[]', '{}']) {
      writeFileSync(join(broken, 'backup.json'), receipt)
      for (const args of [
        ['restore', broken, createDataDir()],
        ['backup', broken],
      ] as const)
        assert.match((await run(...args)).output, /backup\.json is damaged/, receipt)
    }
  })

  it('leaves out no file', async () => {
    const engine = await startEmbeddedMongo({ dataDir: join(target, 'database') })
    const client = await MongoClient.connect(engine.uri)
    const users = client.db('health-record').collection('_User')
    assert.equal(await users.countDocuments({ email: EMAIL }), 1)
    await client.close()
    await engine.stop()
  })
})
