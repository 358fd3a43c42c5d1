import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
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
    const otherPrograms = ['bin/health-record-service.mjs', 'packages/embedded-mongo/bin/embedded-mongo.js']
    for (const command of new Set([...otherPrograms, ...ofScripts])) {
      const { stdout, stderr } = await run(process.execPath, [...command.split(' '), '--help'])
      assert.match(stdout, /Usage: |npm run /, command)
      // Those that start the service list its configuration.
      const isStart = / (start|open)$|dev\.mjs/.test(command)
      assert.ok((isStart || stdout.length < 2_000) && stderr === '', command)
    }
  })

  it('print the usage for -h and --help wherever they stand, and do nothing else', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'help-'))
    const program = resolve('bin/health-record-service.mjs')
    const commands = [[], ['start'], ['admin'], ['audit'], ['backup'], ['import'], ['move'], ['openapi']]
    for (const command of [...commands, ['audit', 'verify'], ['backup', 'copy'], ['restore', 'copy']])
      for (const option of ['-h', '--help']) {
        const { stdout } = await run(process.execPath, [program, ...command, option], { cwd })
        assert.match(stdout, /^Usage: /, [...command, option].join(' '))
      }
    assert.deepEqual(readdirSync(cwd), [])
  })

  it('refuse a DATA_DIR that does not exist, and do not create it', async () => {
    const DATA_DIR = join(mkdtempSync(join(tmpdir(), 'mistyped-')), 'dta')
    const copy = `${DATA_DIR}-copy`
    const commands = ['admin list', 'admin rotate-keys', 'audit verify', 'audit rekey', `backup ${copy}`]
    for (const command of [...commands, 'move --to mongodb://127.0.0.1:1/x?replicaSet=a']) {
      const args = ['bin/health-record-service.mjs', ...command.split(' ')]
      const stderr = /DATA_DIR must be the directory of the service: \S+ does not exist/
      await assert.rejects(run(process.execPath, args, { env: { ...process.env, DATA_DIR } }), { stderr })
      assert.deepEqual([existsSync(DATA_DIR), existsSync(copy)], [false, false], command)
    }
  })

  it('refuse arguments that a command does not use', async () => {
    const refusals = {
      'openapi a.json b.json': /^openapi takes at most one FILE\. See --help\.$/m,
      backup: /^backup takes DIR\. See --help\.$/m,
      'restore copy': /^restore takes DIR and TARGET\. See --help\.$/m,
      // An empty argument, such as an unset variable, is not the working directory.
      'backup ': /^backup takes DIR\. See --help\.$/m,
      'restore copy ': /^restore takes DIR and TARGET\. See --help\.$/m,
      move: /^MONGODB_URI or --to is required\. See --help\.$/m,
      audit: /^The command must be verify or rekey\. See --help\.$/m,
      'audit foo': /^The command must be verify or rekey, not foo\. See --help\.$/m,
      'admin list --name x': /^admin list does not take --name\. See --help\.$/m,
      'audit verify --lost': /does not take --lost/,
      'backup -x': /'-x'/,
    }
    for (const [command, stderr] of Object.entries(refusals))
      await assert.rejects(run(process.execPath, ['bin/health-record-service.mjs', ...command.split(' ')]), {
        stdout: '',
        stderr,
      })
    assert.ok(!existsSync('a.json'))
  })

  it('say which file is missing, or is not one', async () => {
    const reading = '--ehr x --care-plan x --user ann@example.org'
    const faults = {
      [`import --file missing.csv ${reading}`]: /^The import failed: missing\.csv does not exist$/m,
      [`import --file README.md --map missing.json ${reading}`]:
        /^The import failed: missing\.json does not exist$/m,
      'openapi docs': /^docs is a directory, not a file$/m,
      'openapi README.md/api.json': /^README\.md\/api\.json is below a file, not a directory$/m,
      'backup copy': /^\S+\/database is below a file, not a directory$/m,
      'restore README.md copy': /^\S+README\.md\/backup\.json is below a file, not a directory$/m,
    }
    const env = { ...process.env, DATA_DIR: mkdtempSync(join(tmpdir(), 'files-')) }
    writeFileSync(join(env.DATA_DIR, 'database'), '')
    for (const [command, stderr] of Object.entries(faults)) {
      const args = ['bin/health-record-service.mjs', ...command.split(' ')]
      await assert.rejects(run(process.execPath, args, { env }), { stdout: '', stderr }, command)
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
