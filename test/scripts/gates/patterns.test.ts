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

  it('refuses each expression of more than linear time, and says why', () => {
    const reasons = {
      '/\\s+$/': 'tries each start of a run, and each time reads to its end',
      '/^\\d+\\d+$/': 'can divide a text between two repetitions in many ways',
      '/^(?:a+)+$/': 'can divide a text between the rounds of one repetition in many ways',
      '/^(?:a|ab?)+$/': 'repeats alternatives that begin alike',
    }
    const patterns = Object.entries(reasons)
    const { status, stderr } = check(
      patterns.map(([pattern], i) => `\nexport const pattern${i} = ${pattern}\n`).join(''),
    )
    const faults = patterns.map(
      ([pattern, reason], i) => `server/texts.ts:${2 * i + 2}: ${pattern} ${reason}\n`,
    )
    assert.deepEqual([status, stderr], [1, faults.join('')])
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
