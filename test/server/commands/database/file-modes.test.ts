import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEmbeddedMongo } from '@health-record-service/embedded-mongo'
import { freePort } from '../../../harness/service/port.ts'
import {
  createDataDir,
  createProcessClient,
  type ServiceProcess,
  startProcess,
  stopProcess,
} from '../../../harness/service/service-process.ts'
import { isFullSize } from '../../../harness/test-size.ts'
import { waitUntil } from '../../../harness/wait.ts'

/** The directory and everything in it. */
const pathsIn = (directory: string): string[] =>
  ['', ...readdirSync(directory, { recursive: true, encoding: 'utf8' })].map((name) => join(directory, name))

const modeOf = (path: string): number => statSync(path).mode & 0o777

function assertPrivate(directory: string, ...names: string[]): void {
  for (const name of names) assert.ok(existsSync(join(directory, name)), name)
  for (const path of pathsIn(directory)) {
    const stats = statSync(path)
    const mode = stats.isFile() ? 0o600 : 0o700
    assert.equal(modeOf(path).toString(8), mode.toString(8), path)
  }
}

/** Starts a child process with this mask, which it inherits. */
function withMask<T>(mask: number, start: () => T): T {
  const formerMask = process.umask(mask)
  try {
    return start()
  } finally {
    process.umask(formerMask)
  }
}

describe('files that the service and its commands create', function suite() {
  this.timeout(60_000)
  const running: ServiceProcess[] = []
  after(() => Promise.all(running.map(stopProcess)))

  for (const mask of isFullSize ? [0o000, 0o022] : [0o000])
    it(`can be read by their owner only, whatever the umask is: ${mask.toString(8).padStart(3, '0')}`, async () => {
      const root = createDataDir()
      const env = { PATH: process.env.PATH }
      const [dataDir, copy, target] = ['data', 'copy', 'target'].map((name) => join(root, name)) as [
        string,
        string,
        string,
      ]
      const PORT = String(await freePort())
      const service = await withMask(mask, () => startProcess({ DATA_DIR: dataDir, PORT }))
      running.push(service)
      await service.ready
      const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }
      await createProcessClient(service)('/1/users', { ...account, termsAccepted: true })
      const outbox = join(dataDir, 'outbox')
      await waitUntil(() => existsSync(outbox) && readdirSync(outbox).some((name) => name.endsWith('.eml')))
      const run = (...args: string[]) =>
        withMask(mask, () =>
          promisify(execFile)('bin/health-record-service.mjs', args, { env: { ...env, DATA_DIR: dataDir } }),
        )
      await run('backup', copy)
      await run('restore', copy, target)
      assertPrivate(dataDir, 'keys.json', 'service.json', 'database/data.mdb', 'outbox')
      assertPrivate(copy, 'data.mdb', 'backup.json')
      assertPrivate(target, 'database/data.mdb')
      assert.equal(await stopProcess(service), 0)
      assert.equal(existsSync(join(dataDir, 'service.json')), false)
    })

  it('become private if an earlier version let others read them', async () => {
    const dataDir = join(createDataDir(), 'database')
    const file = join(dataDir, 'data.mdb')
    await (await startEmbeddedMongo({ dataDir })).stop()
    chmodSync(file, 0o644)
    const engine = await startEmbeddedMongo({ dataDir })
    assert.equal(modeOf(file), 0o600)
    await engine.stop()
  })
})
