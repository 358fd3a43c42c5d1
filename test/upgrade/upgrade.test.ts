import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import {
  createDataDir,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../harness/service/service-process.ts'
import { waitUntil } from '../harness/wait.ts'
import { answersOf, logIn, register, storeSample } from './sample-data.ts'

const RELEASES = 'test/upgrade/releases'

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

/** What the doors of a new database answer that holds the same. */
async function answersOfNew(steps: readonly string[]): Promise<Record<string, unknown>> {
  const service = await startServiceProcess()
  try {
    await register(service)
    const session = await logIn(service)
    return await answersOf(await logIn(service, await storeSample(session, steps)))
  } finally {
    await stopProcess(service)
  }
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

  for (const version of readdirSync(RELEASES))
    it(`${version}: its data gives every answer that the same data gives when stored today, after a kill -9 at the start`, async () => {
      const stored = storedBy(version)
      const killed = await startServiceProcess({ DATA_DIR: dataDirOf(version) })
      killed.child.kill('SIGKILL')
      await killed.ended
      service = await startServiceProcess({ DATA_DIR: killed.dataDir })
      await upToDate(service)
      const answers = await answersOf(await logIn(service, stored))
      const expected = await answersOfNew(Object.keys(stored))
      for (const door of Object.keys(expected)) assert.deepEqual(answers[door], expected[door], door)
      await stopProcess(service)
      const env = { PATH: process.env.PATH, DATA_DIR: service.dataDir }
      await promisify(execFile)(process.execPath, ['dist/server/commands/audit.js', 'verify'], { env })
    })
})
