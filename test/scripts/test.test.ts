import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createDataDir } from '../harness/service/service-process.ts'

/** A project with three compiled test files of two tests each. */
function createProject(): string {
  const directory = createDataDir()
  mkdirSync(join(directory, 'packages'))
  mkdirSync(join(directory, 'dist/test'), { recursive: true })
  for (const name of ['goal', 'task', 'token'])
    writeFileSync(
      join(directory, `dist/test/${name}.test.js`),
      `for (const title of ['is kept', 'is restored']) it('${name} ' + title, () => {})\n`,
    )
  return directory
}

describe('npm test', () => {
  const project = createProject()
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [resolve('scripts/test.mjs'), ...words], { cwd: project, encoding: 'utf8' })
  // CI has colours.
  const passedTests = (output: string) =>
    [...stripVTControlCharacters(output).matchAll(/✔ (.+)/g)].map(([, title]) => title).toSorted()

  it('runs the tests of each word: whole files by their path, others by their title', () => {
    const { status, stdout } = run('goal', 'TASK', 'token is restored')
    assert.deepEqual(passedTests(stdout), [
      'goal is kept',
      'goal is restored',
      'task is kept',
      'task is restored',
      'token is restored',
    ])
    assert.equal(status, 0)
  })

  it('passes though most files have no test with the title', () => {
    const { status, stdout } = run('token is restored')
    assert.deepEqual(passedTests(stdout), ['token is restored'])
    assert.equal(status, 0)
  })

  it('fails if a title has no match, though another word has one', () => {
    const { status, stdout } = run('goal', 'no such title')
    assert.deepEqual(passedTests(stdout), ['goal is kept', 'goal is restored'])
    assert.equal(status, 1)
  })
})
