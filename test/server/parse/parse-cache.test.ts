import assert from 'node:assert/strict'
import { type ParseCache, preventStaleEntries } from '../../../cloud/parse-server/adapter/parse-cache.ts'

describe('a cache of Parse Server', () => {
  let notes: Map<string, unknown>
  let cache: ParseCache
  let forget: () => Promise<void>
  beforeEach(() => {
    notes = new Map()
    cache = {
      get: async (userId) => notes.get(userId) ?? null,
      put: (userId, roles) => notes.set(userId, roles),
      clear: async () => notes.clear(),
    }
    forget = preventStaleEntries(cache)
  })

  it('stores roles and forgets them', async () => {
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', ['nurse'])
    assert.deepEqual(await cache.get('ann'), ['nurse'])
    await forget()
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', [])
    assert.deepEqual(await cache.get('ann'), [])
  })

  it('does not store roles that changed while they were being read', async () => {
    await cache.get('ann')
    await forget()
    cache.put('ann', ['nurse'])
    assert.equal(await cache.get('ann'), null)
  })

  it('does not store roles from a read before the change that ends after another read', async () => {
    await cache.get('ann')
    await forget()
    await cache.get('ann')
    cache.put('ann', ['nurse'])
    cache.put('ann', [])
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', [])
    assert.deepEqual(await cache.get('ann'), [])
  })

  it('does not store roles from the second of two reads before the change', async () => {
    await cache.get('ann')
    await cache.get('ann')
    cache.put('ann', ['nurse'])
    await forget()
    await cache.get('ann')
    cache.put('ann', ['nurse'])
    assert.equal(await cache.get('ann'), null)
  })
})
