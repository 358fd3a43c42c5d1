import assert from 'node:assert/strict'
import { ReadCache } from '../../../../records/store/reading/read-cache.ts'

describe('a cache of values from the database', () => {
  const options = { max: 10, ttl: 60_000 }

  it('reads a value once', async () => {
    const cache = new ReadCache<{ count: number }>(options)
    let count = 0
    const read = async () => ({ count: ++count })
    assert.deepEqual(await cache.get('a', read), { count: 1 })
    assert.deepEqual(await cache.get('a', read), { count: 1 })
  })

  it('reads again what is missing, and what was read before a change', async () => {
    const cache = new ReadCache<{ count: number }>(options)
    assert.equal(await cache.get('a', async () => undefined), undefined)
    assert.deepEqual(await cache.get('a', async () => ({ count: 1 })), { count: 1 })
    cache.clear()
    assert.deepEqual(await cache.get('a', async () => ({ count: 2 })), { count: 2 })
  })

  it('does not keep a value during whose reading something changed', async () => {
    const cache = new ReadCache<{ count: number }>(options)
    const former = await cache.get('a', async () => {
      cache.clear()
      return { count: 1 }
    })
    assert.deepEqual(former, { count: 1 })
    assert.deepEqual(await cache.get('a', async () => ({ count: 2 })), { count: 2 })
  })
})
