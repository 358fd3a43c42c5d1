/**
 * Keeps the data directory that a released version leaves, for upgrade.test.ts:
 *
 *     git worktree add /tmp/release v0.2.0 && (cd /tmp/release && npm ci && npm run build)
 *     npm run build && node dist/test/upgrade/keep-release.js /tmp/release 0.2.0
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { freePort } from '../harness/service/port.ts'
import { logIn, register, storeSample } from './sample-data.ts'

const [build = '', version = ''] = process.argv.slice(2)
const directory = join('test/upgrade/releases', version)
const dataDir = mkdtempSync(join(tmpdir(), 'release-'))
const port = await freePort()
const service = spawn(process.execPath, ['dist/server/main.js'], {
  cwd: build,
  env: { PATH: process.env.PATH, PORT: String(port), DATA_DIR: dataDir },
  stdio: ['ignore', 'ignore', 'inherit'],
})
const ended = once(service, 'close')
const target = { url: `http://127.0.0.1:${port}`, dataDir }
while (!(await fetch(`${target.url}/health/ready`).catch(() => undefined))?.ok) await sleep(100)
await register(target)
const stored = await storeSample(await logIn(target))
service.kill('SIGTERM')
await ended
mkdirSync(directory, { recursive: true })
writeFileSync(
  join(directory, 'data.mdb.gz'),
  gzipSync(readFileSync(join(dataDir, 'database/data.mdb')), { level: 9 }),
)
writeFileSync(join(directory, 'keys.json'), readFileSync(join(dataDir, 'keys.json')))
writeFileSync(join(directory, 'stored.json'), `${JSON.stringify(stored, null, 2)}\n`)
rmSync(dataDir, { recursive: true })
