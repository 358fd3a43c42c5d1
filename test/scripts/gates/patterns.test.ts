import assert from 'node:assert/strict'
import { runGate } from './project.ts'

describe('npm run patterns', () => {
  const check = (text: string) => runGate('patterns.mjs', { 'server/texts.ts': text })

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
    const { status, stderr } = runGate('patterns.mjs', {})
    assert.deepEqual([status, stderr], [1, 'No files were found: correct PROGRAMS in scripts/sources.mjs\n'])
  })
})
