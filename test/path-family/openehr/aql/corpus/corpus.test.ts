import assert from 'node:assert/strict'
import type { Context } from 'mocha'
import { listCorpusFiles, readCorpusFile } from '../../../../harness/corpus.ts'
import { createRoleHolder } from '../../../../harness/people/people.ts'
import { isFullSize } from '../../../../harness/test-size.ts'
import { InMemory } from './in-memory.ts'
import { Served } from './served.ts'
import { comparableRows, type Store, type Suite } from './suites.ts'

/** Asserts that all cases give their expected rows; each suite begins with an empty store. */
async function assertCases(test: Context, empty: () => Store | Promise<Store>): Promise<void> {
  let count = 0
  const failed: string[] = []
  for (const directory of ['openehr/aql/cases', 'openehr/aql/derived'])
    for (const file of listCorpusFiles(test, directory)) {
      const { setup, cases } = readCorpusFile<Suite>(test, file)
      const shared = await empty()
      await shared.do(setup)
      for (const one of cases) {
        const store = one.setup ? await empty() : shared
        if (one.setup) await store.do([...setup, ...one.setup])
        const filled = JSON.parse(store.names.filled(JSON.stringify(one)))
        try {
          assert.deepEqual(comparableRows(await store.rows(filled), one), comparableRows(filled.rows, one))
          count++
        } catch (error) {
          failed.push(`${one.id}: ${(error as Error).message}`)
        }
      }
    }
  assert.deepEqual(failed, [])
  assert.ok(count >= 281, `${count} cases`)
}

describe('the AQL cases of the corpus', () => {
  it('return their expected rows', async function () {
    await assertCases(this, () => new InMemory(this))
  })

  if (isFullSize)
    it('return them over HTTP, for compositions committed with templates', async function () {
      this.timeout(300_000)
      const modeller = await createRoleHolder('modeller')
      await assertCases(this, () => Served.empty(this, modeller))
    })
})
