import assert from 'node:assert/strict'
import { forgettable, type RoleCache } from '../../../cloud/parse-server/adapter/role-cache.ts'

describe('the roles that Parse Server notes', () => {
  let notes: Map<string, unknown>
  let cache: RoleCache
  let forget: () => Promise<void>
  beforeEach(() => {
    notes = new Map()
    cache = {
      get: async (userId) => notes.get(userId) ?? null,
      put: (userId, roles) => notes.set(userId, roles),
      clear: async () => notes.clear(),
    }
    forget = forgettable(cache)
  })

  it('are noted and forgotten', async () => {
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', ['nurse'])
    assert.deepEqual(await cache.get('ann'), ['nurse'])
    await forget()
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', [])
    assert.deepEqual(await cache.get('ann'), [])
  })

  it('are not noted when they changed while they were being read', async () => {
    await cache.get('ann')
    await forget()
    cache.put('ann', ['nurse'])
    assert.equal(await cache.get('ann'), null)
  })

  it('are not noted by who began to read before the change and came in after another one', async () => {
    await cache.get('ann')
    await forget()
    await cache.get('ann')
    cache.put('ann', ['nurse'])
    cache.put('ann', [])
    assert.equal(await cache.get('ann'), null)
    cache.put('ann', [])
    assert.deepEqual(await cache.get('ann'), [])
  })
})
