import assert from 'node:assert/strict'
import { RecentRemovals } from '../../records/store/writing/removal/recent-removals.ts'

describe('recent removals', () => {
  it('include what was removed, and nothing else', async () => {
    const removals = new RecentRemovals()
    await removals.remember('plan', Promise.resolve())
    assert.equal(await removals.include('ehr', 'plan', undefined), true)
    assert.equal(await removals.include('ehr', undefined), false)
  })

  it('are waited for while they are under way', async () => {
    const removals = new RecentRemovals()
    let finish = (): void => {}
    const removal = removals.remember('plan', new Promise((resolve) => (finish = resolve)))
    const included = removals.include('plan')
    finish()
    await removal
    assert.equal(await included, true)
  })

  it('do not include one that failed, and tell why it did', async () => {
    const removals = new RecentRemovals()
    await assert.rejects(removals.remember('plan', Promise.reject(new Error('no database'))), /no database/)
    assert.equal(await removals.include('plan'), false)
  })

  it('forget what is there again', async () => {
    const removals = new RecentRemovals()
    await removals.remember('ehr', Promise.resolve())
    removals.forget('ehr')
    assert.equal(await removals.include('ehr'), false)
  })
})
