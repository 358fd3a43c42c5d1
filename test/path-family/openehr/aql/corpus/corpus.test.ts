import assert from 'node:assert/strict'
import type { Context } from 'mocha'
import { corpus, corpusFiles } from '../../../../harness/corpus.ts'
import { newHolder } from '../../../../harness/people/people.ts'
import { isFullSize } from '../../../../harness/size.ts'
import { InMemory } from './in-memory.ts'
import { Served } from './served.ts'
import { comparableRows, type Store, type Suite } from './suites.ts'

/** Asserts that all cases give the rows that they should; each suite begins with an empty store. */
async function assertCases(test: Context, empty: () => Store | Promise<Store>): Promise<void> {
  let count = 0
  const failed: string[] = []
  for (const directory of ['openehr/aql/cases', 'openehr/aql/derived'])
    for (const file of corpusFiles(test, directory)) {
      const { setup, cases } = corpus<Suite>(test, file)
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
  it('give the rows that they should', async function () {
    await assertCases(this, () => new InMemory(this))
  })

  if (isFullSize)
    it('give them over HTTP, of what was committed by templates', async function () {
      this.timeout(300_000)
      const modeller = await newHolder('modeller')
      await assertCases(this, () => Served.empty(this, modeller))
    })
})
