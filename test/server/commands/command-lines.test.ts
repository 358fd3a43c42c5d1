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

  it('print the usage of the service, the engine and every npm script that runs a program of this repository', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>
    }
    const ofScripts = Object.values(scripts).flatMap((script) => /\bnode ([^;&|]+)$/.exec(script)?.[1] ?? [])
    assert.ok(ofScripts.length >= 20, String(ofScripts.length))
    const others = ['bin/health-record-service.mjs', 'packages/embedded-mongo/bin/embedded-mongo.js']
    for (const command of new Set([...others, ...ofScripts])) {
      const { stdout, stderr } = await run(process.execPath, [...command.split(' '), '--help'])
      assert.match(stdout, /Usage: |npm run /, command)
      // Those that start the service list its configuration.
      const isStart = / (start|open)$|dev\.mjs/.test(command)
      assert.ok((isStart || stdout.length < 2_000) && stderr === '', command)
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
      PORT: 'x',
      LOG_LEVEL: 'loud',
      SMTP_URL: 'nowhere',
      MASTER_KEY: 'x',
    })
    assert.equal(await service.ended, 1)
    for (const name of ['PORT', 'LOG_LEVEL', 'SMTP_URL', 'MASTER_KEY'])
      assert.ok(service.output().includes(name), name)
  })
})
