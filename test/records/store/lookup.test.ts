import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { createLookup } from '../../../records/store/batching/lookup.ts'

interface One {
  id: string
  at: number
}

describe('a lookup', () => {
  const lookups: string[][] = []
  let now = 0
  let fails = false
  const lookup = createLookup<One>(
    ({ id }) => id,
    async (ids) => {
      lookups.push(ids)
      const at = ++now
      await setImmediate()
      if (fails) throw new Error('no database')
      return ids.filter((id) => id !== 'none').map((id) => ({ id, at }))
    },
  )

  beforeEach(() => {
    lookups.length = 0
    fails = false
  })

  it('asks together what comes at once, and what comes meanwhile', async () => {
    const first = lookup('a')
    await setImmediate()
    const found = await Promise.all([first, ...['b', 'c', 'b', 'none'].map(lookup)])
    assert.deepEqual(
      found.map((one) => one?.id),
      ['a', 'b', 'c', 'b', undefined],
    )
    assert.deepEqual(lookups, [['a'], ['b', 'c', 'none']])
  })

  it('is never answered from an earlier time', async () => {
    const first = lookup('a')
    await setImmediate()
    const second = lookup('a')
    assert.ok(((await second)?.at ?? 0) > ((await first)?.at ?? 0))
  })

  it('tells all who asked together of a failure, and goes on', async () => {
    fails = true
    const [first, ...others] = ['a', 'b', 'c'].map(lookup)
    for (const one of [first, ...others]) await assert.rejects(one as Promise<unknown>, /no database/)
    fails = false
    assert.equal((await lookup('a'))?.id, 'a')
  })

  it('asks for at most 200 ids at a time', async () => {
    const ids = Array.from({ length: 451 }, (_, i) => `id${i}`)
    assert.deepEqual(
      (await Promise.all(ids.map(lookup))).map((one) => one?.id),
      ids,
    )
    assert.deepEqual(
      lookups.map(({ length }) => length),
      [200, 200, 51],
    )
  })
})
