import assert from 'node:assert/strict'
import { corpus, corpusFiles } from '../../../harness/corpus.ts'
import { comparableRows, type Suite, World } from './suites.ts'

describe('the AQL cases of the corpus', () => {
  it('give the rows that they should', async function () {
    let count = 0
    const failed: string[] = []
    for (const directory of ['openehr/aql/cases', 'openehr/aql/derived'])
      for (const file of corpusFiles(this, directory)) {
        const { setup, cases } = corpus<Suite>(this, file)
        const shared = new World(this)
        shared.do(setup)
        for (const one of cases) {
          const world = one.setup ? new World(this) : shared
          if (one.setup) world.do([...setup, ...one.setup])
          const filled = JSON.parse(world.filled(JSON.stringify(one)))
          try {
            const rows = world.rows(filled.q, filled.query_parameters)
            assert.deepEqual(comparableRows(rows, one), comparableRows(filled.rows, one))
            count++
          } catch (error) {
            failed.push(`${one.id}: ${(error as Error).message}`)
          }
        }
      }
    assert.deepEqual(failed, [])
    assert.ok(count >= 281, `${count} cases`)
  })
})
