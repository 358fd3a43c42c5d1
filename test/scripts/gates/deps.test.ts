import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createDataDir } from '../../harness/service/service-process.ts'

const ROOMS = [
  'bench',
  'client',
  'cloud',
  'console/src',
  'fhir',
  'openehr',
  'packages/embedded-mongo',
  'path-api',
  'records',
  'schemas',
  'server',
  'test',
]

describe('npm run deps', () => {
  /** @returns the script's answer for a project with these files */
  function check(files: Record<string, string>) {
    const project = createDataDir()
    for (const name of ['.dependency-cruiser.cjs', '.gitignore', 'tsconfig.json'])
      copyFileSync(name, join(project, name))
    symlinkSync(resolve('node_modules'), join(project, 'node_modules'))
    for (const room of ROOMS) mkdirSync(join(project, room), { recursive: true })
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(project, path)), { recursive: true })
      writeFileSync(join(project, path), text)
    }
    return spawnSync(process.execPath, [resolve('scripts/deps.mjs')], { cwd: project, encoding: 'utf8' })
  }
  const inEachRoom = Object.fromEntries(ROOMS.map((room) => [`${room}/one.ts`, 'export const one = 1\n']))

  it('accepts imports of lower folders', () => {
    const { status, stdout } = check({
      ...inEachRoom,
      'records/two.ts': "export * from '../schemas/one.ts'\n",
    })
    assert.equal(status, 0, stdout)
  })

  it('names an import of a higher folder, and the remedy', () => {
    const { status, stdout } = check({
      ...inEachRoom,
      'schemas/two.ts': "export * from '../records/one.ts'\n",
    })
    assert.equal(status, 1)
    assert.match(
      stdout,
      /schemas-imports-only: schemas\/two\.ts → records\/one\.ts\s+schemas\/ may import itself: move/,
    )
  })

  it('refuses folders that no rule names', () => {
    const { status, stderr } = check({
      ...inEachRoom,
      'web/a.ts': '',
      'records/new/b.ts': '',
      'packages/other/c.ts': '',
    })
    assert.equal(status, 1)
    assert.equal(
      stderr,
      'Name web, packages/other, records/new in .dependency-cruiser.cjs, behind the folders that it imports.\n',
    )
  })

  it('fails if it sees no modules', () => {
    const { 'cloud/one.ts': _, ...others } = inEachRoom
    const { status, stderr } = check(others)
    assert.equal(status, 1)
    assert.match(stderr, /^No TypeScript module was seen in cloud: /)
  })
})
