import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { runAuditCommand } from '../../server/commands/audit.ts'
import { runCommand } from '../harness/in-process/run-command.ts'
import { config, service as current } from '../harness/service/service.ts'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../harness/service/service-process.ts'
import { isFullSize } from '../harness/test-size.ts'
import { waitUntil } from '../harness/wait.ts'
import { answersOf, logIn, register, storeSample } from './sample-data.ts'

const RELEASES = 'test/upgrade/releases'
const versions = readdirSync(RELEASES).sort()
const latest = versions.at(-1)

/** A data directory as a released version left it. */
function dataDirOf(version: string): string {
  const dataDir = createDataDir()
  mkdirSync(join(dataDir, 'database'))
  copyFileSync(join(RELEASES, version, 'keys.json'), join(dataDir, 'keys.json'))
  const data = gunzipSync(readFileSync(join(RELEASES, version, 'data.mdb.gz')))
  writeFileSync(join(dataDir, 'database/data.mdb'), data)
  return dataDir
}

const storedBy = (version: string): Record<string, string> =>
  JSON.parse(readFileSync(join(RELEASES, version, 'stored.json'), 'utf8'))

/** What the doors of a new account answer that holds the same. */
async function answersOfNew(version: string, steps: readonly string[]): Promise<Record<string, unknown>> {
  const target = { url: current.url, dataDir: config.dataDir }
  const email = `ann@${version}.example.org`
  await register(target, email)
  const session = await logIn(target, {}, email)
  return await answersOf(await logIn(target, await storeSample(session, steps), email))
}

/** Resolves when the service has brought its data up to date. */
async function upToDate({ url }: ServiceProcess): Promise<void> {
  await waitUntil(async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text()
    return /^derived_data_pending_documents 0$/m.test(metrics)
  })
}

describe('a released version', function suite() {
  this.timeout(60_000)
  let service: ServiceProcess | undefined

  afterEach(async () => {
    if (service) await stopProcess(service)
    service = undefined
  })

  for (const version of versions) {
    const isKilled = isFullSize || version === latest
    const after = isKilled ? ', after a kill -9 at the start' : ''
    it(`${version}: its data gives every answer that the same data gives when stored today${after}`, async () => {
      const stored = storedBy(version)
      const DATA_DIR = dataDirOf(version)
      if (isKilled) {
        const killed = await startServiceProcess({ DATA_DIR })
        killed.child.kill('SIGKILL')
        await killed.ended
      }
      service = await startServiceProcess({ DATA_DIR })
      await upToDate(service)
      const answers = await answersOf(await logIn(service, stored))
      const expected = await answersOfNew(version, Object.keys(stored))
      for (const door of Object.keys(expected)) assert.deepEqual(answers[door], expected[door], door)
      await stopProcess(service)
      const { code, output } = await runCommand(runAuditCommand, ['verify'], { DATA_DIR })
      assert.equal(code, 0, output)
    })
  }
})
