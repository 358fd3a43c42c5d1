import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isFullSize } from '../harness/size.ts'
import { until } from '../harness/until.ts'

const run = promisify(execFile)
const compilerOptions = { rootDir: '.', outDir: 'dist', incremental: true, lib: ['es5'], types: [] }
const globals = 'declare const console: any\ndeclare const setInterval: any\n'

/** A project of two modules, with the tools of this one. */
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

describe('the scripts', function suite() {
  this.timeout(60_000)

  it('build what has changed, say so, and remove what was compiled from sources that are gone', async () => {
    const project = newProject()
    const build = () =>
      run(process.execPath, [resolve('scripts/build.mjs')], { cwd: project }).then(
        ({ stderr }) => stderr,
        ({ code, stderr }) => `${code}: ${stderr}`,
      )
    assert.match(await build(), /^building …\nbuilt: [\d.]+ s\n$/)
    writeFileSync(join(project, 'dist/openapi.json'), '{}')
    assert.equal(await build(), '')

    rmSync(join(project, 'server/other.ts'))
    write(project, 'main', 'console.log("it is 2")\n')
    assert.match(await build(), /^building …\n/)
    assert.match(readFileSync(join(project, 'dist/server/main.js'), 'utf8'), /it is 2/)
    assert.equal(existsSync(join(project, 'dist/server/other.js')), false)
    assert.ok(existsSync(join(project, 'dist/openapi.json')))

    write(project, 'main', 'const text: string = 5\n')
    for (const _ of ['when it has changed', 'and again'])
      assert.match(
        await build(),
        /^1: building …\nserver\/main\.ts\(1,7\): error [\s\S]*not built: [\d.]+ s\n$/,
      )
  })

  if (isFullSize)
    describe('in development', () => {
      let dev: ChildProcess
      after(() => dev.kill('SIGTERM'))

      it('start again what has changed, once it can be compiled', async () => {
        const project = newProject()
        dev = spawn(process.execPath, [resolve('scripts/dev.mjs'), 'dist/server/main.js'], { cwd: project })
        let output = ''
        for (const stream of [dev.stdout, dev.stderr]) stream?.on('data', (chunk) => (output += chunk))
        await until(() => output.includes('it is 1'))
        write(project, 'main', 'const text: string = 5\nconsole.log("it is 2")\n')
        await until(() => output.includes('Found 1 error'))
        write(project, 'main', 'console.log("it is 3")\n')
        await until(() => output.includes('it is 3'))
        assert.doesNotMatch(output, /it is 2/)
      })
    })
})
