import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { createBatchedLookup } from '../../../../records/store/batching/batched-lookup.ts'

interface TestRecord {
  _id: string
  at: number
}

describe('a batched lookup', () => {
  const lookups: string[][] = []
  let now = 0
  let fails = false
  const lookup = createBatchedLookup<TestRecord>(async (ids) => {
    lookups.push(ids)
    const queryNumber = ++now
    await setImmediate()
    if (fails) throw new Error('no database')
    return ids.filter((id) => id !== 'none').map((_id) => ({ _id, at: queryNumber }))
  })

  beforeEach(() => {
    lookups.length = 0
    fails = false
  })

  it('shares a query between concurrent lookups, and between those that arrive during a query', async () => {
    const firstLookup = lookup('a')
    await setImmediate()
    const results = await Promise.all([firstLookup, ...['b', 'c', 'b', 'none'].map(lookup)])
    assert.deepEqual(
      results.map((one) => one?._id),
      ['a', 'b', 'c', 'b', undefined],
    )
    assert.deepEqual(lookups, [['a'], ['b', 'c', 'none']])
  })

  it('never returns a result that is older than its request', async () => {
    const first = lookup('a')
    await setImmediate()
    const second = lookup('a')
    assert.ok(((await second)?.at ?? 0) > ((await first)?.at ?? 0))
  })

  it('rejects all lookups of a failed query, and serves later ones', async () => {
    fails = true
    const [first, ...others] = ['a', 'b', 'c'].map(lookup)
    for (const one of [first, ...others]) await assert.rejects(one as Promise<unknown>, /no database/)
    fails = false
    assert.equal((await lookup('a'))?._id, 'a')
  })

  it('sends at most 200 ids per query', async () => {
    const ids = Array.from({ length: 451 }, (_, i) => `id${i}`)
    assert.deepEqual(
      (await Promise.all(ids.map(lookup))).map((one) => one?._id),
      ids,
    )
    assert.deepEqual(
      lookups.map(({ length }) => length),
      [200, 200, 51],
    )
  })
})
