import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { isFullSize } from '../harness/test-size.ts'
import { waitUntil } from '../harness/wait.ts'

const run = promisify(execFile)
const compilerOptions = {
  rootDir: '.',
  outDir: '.build',
  tsBuildInfoFile: 'dist/tsconfig.tsbuildinfo',
  incremental: true,
  lib: ['es5'],
  types: [],
}
const globals = 'declare const console: any\ndeclare const setInterval: any\n'

/** A project with two modules and the tools of this one. */
function newProject(): string {
  const directory = mkdtempSync(join(tmpdir(), 'project-'))
  mkdirSync(join(directory, 'server'))
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'))
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['server'] }))
  writeFileSync(join(directory, 'server/globals.d.ts'), globals)
  write(directory, 'main', 'setInterval(() => {}, 1000)\nconsole.log("it is 1")\n')
  write(directory, 'other', 'export const other = 1\n')
  return directory
}

const write = (project: string, name: string, text: string): void =>
  writeFileSync(join(project, `server/${name}.ts`), text)

const compiled = (project: string): string => readFileSync(join(project, 'dist/server/main.js'), 'utf8')

const build = (project: string, ...options: string[]): Promise<string> =>
  run(process.execPath, [resolve('scripts/build.mjs'), ...options], { cwd: project }).then(
    ({ stderr }) => stderr,
    ({ code, stderr }) => `${code}: ${stderr}`,
  )

/** What a killed build leaves behind. */
function addDeadLock(project: string): void {
  const file = join(project, 'dist/build-lock/killed')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '')
  utimesSync(file, 0, 0)
}

/** Creates a program that locks the builds for a while. It takes its time between a look at a lock and its removal. */
function lockUser(project: string): string {
  const path = join(project, 'lock-user.mjs')
  writeFileSync(
    path,
    `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout } from 'node:timers/promises'
const [, , name, log] = process.argv
const { rmSync } = fs
fs.rmSync = (...args) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300 * Number(name))
  rmSync(...args)
}
syncBuiltinESMExports()
const { lockBuilds } = await import(${JSON.stringify(pathToFileURL(resolve('scripts/lock.mjs')))})
process.chdir(${JSON.stringify(project)})
const unlock = await lockBuilds()
fs.appendFileSync(log, name + ' in\\n')
await setTimeout(1000)
fs.appendFileSync(log, name + ' out\\n')
unlock()
`,
  )
  return path
}

/** Builds, and returns the time at which the compiler started. */
async function buildAndTime(project: string): Promise<Date> {
  const child = spawn(process.execPath, [resolve('scripts/build.mjs')], { cwd: project })
  const ended = once(child, 'exit')
  await once(child.stderr, 'data')
  const startedAt = new Date()
  await ended
  return startedAt
}

describe('the scripts', function suite() {
  this.timeout(60_000)

  it('build changed files, say so, and remove the output of deleted sources', async () => {
    const project = newProject()
    assert.match(await build(project), /^building …\nbuilt: [\d.]+ s\n$/)
    writeFileSync(join(project, 'dist/openapi.json'), '{}')
    assert.equal(await build(project), '')

    rmSync(join(project, 'server/other.ts'))
    writeFileSync(join(project, 'dist/server/moved.json'), '{}')
    write(project, 'main', 'console.log("it is 2")\n')
    assert.match(await build(project), /^building …\n/)
    assert.match(compiled(project), /it is 2/)
    for (const name of ['other.js', 'moved.json'])
      assert.equal(existsSync(join(project, 'dist/server', name)), false, name)
    assert.ok(existsSync(join(project, 'dist/openapi.json')))

    write(project, 'main', 'const text: string = 5\n')
    for (const _ of ['when it has changed', 'and again'])
      assert.match(
        await build(project),
        /^1: building …\nserver\/main\.ts\(1,7\): error [\s\S]*not built: [\d.]+ s\n$/,
      )
    assert.match(compiled(project), /it is 2/)
    write(project, 'main', 'console.log("it is 2")\n')
    assert.match(await build(project), /^building …\nbuilt/)
    assert.match(compiled(project), /it is 2/)
  })

  it('build without a check of types for who starts the service, and check them at the next build', async () => {
    const project = newProject()
    write(project, 'main', 'const text: string = 5\nconsole.log(text)\n')
    assert.match(await build(project, '--no-check'), /^building …\nbuilt: [\d.]+ s\n$/)
    assert.match(compiled(project), /text = 5/)
    assert.equal(await build(project, '--no-check'), '')
    assert.match(await build(project), /^1: building …\nserver\/main\.ts\(1,7\): error /)
    write(project, 'main', 'const text: string = "5"\nconsole.log(text)\n')
    assert.match(await build(project), /^building …\nbuilt/)
    assert.equal(await build(project, '--no-check'), '')
  })

  it('report a fault in tsconfig.json', async () => {
    const project = newProject()
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['none'] }))
    assert.match(await build(project), /^1: building …\nerror TS18003: .*\nnot built: [\d.]+ s\n$/)
  })

  it('replace a compiled file in one step', async () => {
    const project = newProject()
    await build(project)
    const running = openSync(join(project, 'dist/server/main.js'), 'r')
    write(project, 'main', 'console.log("it is 2")\n')
    await build(project)
    assert.match(readFileSync(running, 'utf8'), /it is 1/)
    closeSync(running)
    assert.match(compiled(project), /it is 2/)
    assert.equal(existsSync(join(project, '.build')), false)
  })

  it('build one after the other', async () => {
    const project = newProject()
    const reports = await Promise.all([build(project), build(project)])
    assert.deepEqual(reports.map((report) => report.slice(0, 8)).sort(), ['', 'building'])
  })

  it('build after a build was killed', async () => {
    const project = newProject()
    addDeadLock(project)
    assert.match(await build(project), /^building …\nbuilt/)
    assert.deepEqual(readdirSync(join(project, 'dist/build-lock')), [])
  })

  it('build one after the other after a build was killed, when both find its lock', async () => {
    const project = newProject()
    addDeadLock(project)
    const log = join(project, 'log')
    await Promise.all(['1', '2', '3'].map((name) => run(process.execPath, [lockUser(project), name, log])))
    assert.match(readFileSync(log, 'utf8'), /^(\d in\n\d out\n){3}$/)
  })

  it('move the output that a build had compiled before it was killed', async () => {
    const project = newProject()
    await build(project)
    mkdirSync(join(project, '.build/server'), { recursive: true })
    writeFileSync(join(project, '.build/server/main.js'), '// compiled, not moved')
    await build(project)
    assert.match(compiled(project), /compiled, not moved/)
  })

  it('build files again that change during a build', async () => {
    const project = newProject()
    const startedAt = await buildAndTime(project)
    write(project, 'main', 'console.log("it is 2")\n')
    utimesSync(join(project, 'server/main.ts'), startedAt, startedAt)
    assert.match(await build(project), /^building …\nbuilt/)
    assert.match(compiled(project), /it is 2/)
  })

  if (isFullSize)
    describe('in development', () => {
      let dev: ChildProcess
      after(() => dev.kill('SIGTERM'))

      it('restart changed programs once they compile', async () => {
        const project = newProject()
        dev = spawn(process.execPath, [resolve('scripts/dev.mjs'), 'dist/server/main.js'], { cwd: project })
        let output = ''
        for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (chunk) => (output += chunk))
        await waitUntil(() => output.includes('it is 1'))
        write(project, 'main', 'const text: string = 5\nconsole.log("it is 2")\n')
        await waitUntil(() => output.includes('not built'))
        write(project, 'main', 'console.log("it is 3")\n')
        await waitUntil(() => output.includes('it is 3'))
        assert.doesNotMatch(output, /it is 2/)
      })
    })
})
