import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createDataDir } from '../../harness/service/service-process.ts'

const FOLDERS = [
  'client',
  'cloud',
  'console',
  'fhir',
  'packages',
  'openehr',
  'path-api',
  'records',
  'schemas',
  'server',
]

describe('npm run patterns', () => {
  /** @returns the script's output for a project with this file */
  function check(text: string) {
    const project = createDataDir()
    for (const folder of FOLDERS) mkdirSync(join(project, folder))
    writeFileSync(join(project, 'server/texts.ts'), text)
    return spawnSync(process.execPath, [resolve('scripts/patterns.mjs')], { cwd: project, encoding: 'utf8' })
  }

  it('accepts expressions of linear time', () => {
    const { status, stderr } = check(
      'export const isName = /^\\w+(?:-\\w+)*$/u\nexport const half = 4 / 2 / 1\n',
    )
    assert.deepEqual([status, stderr], [0, ''])
  })

  for (const [pattern, reason] of [
    ['/\\s+$/', 'tries each start of a run, and each time reads to its end'],
    ['/^\\d+\\d+$/', 'can divide a text between two repetitions in many ways'],
    ['/^(?:a+)+$/', 'can divide a text between the rounds of one repetition in many ways'],
    ['/^(?:a|ab?)+$/', 'repeats alternatives that begin alike'],
  ])
    it(`refuses ${pattern}`, () => {
      const { status, stderr } = check(`\nexport const pattern = ${pattern}\n`)
      assert.deepEqual([status, stderr], [1, `server/texts.ts:2: ${pattern} ${reason}\n`])
    })

  it('refuses slow patterns of schemas', () => {
    const { status, stderr } = check("export const Name = { pattern: '^[0-9]+[0-9]+$' }\n")
    assert.deepEqual(
      [status, stderr],
      [1, 'server/texts.ts:1: /^[0-9]+[0-9]+$/u can divide a text between two repetitions in many ways\n'],
    )
  })

  it('fails without files to read', () => {
    const project = createDataDir()
    for (const folder of FOLDERS) mkdirSync(join(project, folder))
    const { status, stderr } = spawnSync(process.execPath, [resolve('scripts/patterns.mjs')], {
      cwd: project,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [1, 'No files were found: correct PROGRAMS in scripts/sources.mjs\n'])
  })
})
