import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { startProcess } from '../../harness/service/service-process.ts'

const run = promisify(execFile)

describe('the command lines', () => {
  it('list the configuration of the service', async () => {
    const help = await startProcess({}, '--help')
    assert.equal(await help.ended, 0)
    for (const name of ['PORT', 'DATA_DIR', 'MONGODB_URI', 'SMTP_URL', 'TRUST_PROXY'])
      assert.ok(help.output().includes(name), name)
  })

  it('print the usage of the commands', async () => {
    const built = ['', 'admin', 'audit', 'backup', 'restore', 'import', 'move', 'openapi'].map((name) => [
      'bin/health-record-service.mjs',
      ...(name ? [name] : []),
    ])
    const others = ['dist/bench/bench.js', 'dist/bench/embedded-mongo.js', 'scripts/test.mjs']
    const files = [...others, 'packages/embedded-mongo/bin/embedded-mongo.js'].map((file) => [file])
    for (const command of [...built, ...files]) {
      const { stdout, stderr } = await run(process.execPath, [...command, '--help'])
      assert.match(stdout, /Usage: |npm run /, command.join(' '))
      assert.ok(stdout.length < 2_000 && stderr === '', command.join(' '))
    }
  })

  it('print the version of the service and its commands', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    const names = ['', 'start', 'open', 'admin', 'audit', 'backup', 'restore', 'import', 'move', 'openapi']
    for (const name of names) {
      const command = ['bin/health-record-service.mjs', ...(name ? [name] : []), '--version']
      const { stdout, stderr } = await run(process.execPath, command)
      assert.deepEqual([stdout, stderr], [`health-record-service ${version}\n`, ''], name)
    }
  })

  it('report every fault of the configuration of the service, with exit code 1', async () => {
    const service = await startProcess({
      ...{ PORT: 'x', LOG_LEVEL: 'loud', SMTP_URL: 'nowhere', MASTER_KEY: 'x' },
    })
    assert.equal(await service.ended, 1)
    for (const name of ['PORT', 'LOG_LEVEL', 'SMTP_URL', 'MASTER_KEY'])
      assert.ok(service.output().includes(name), name)
  })
})
