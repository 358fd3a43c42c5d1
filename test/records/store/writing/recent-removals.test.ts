import assert from 'node:assert/strict'
import { RecentRemovals } from '../../../../records/store/writing/removal/recent-removals.ts'

describe('recent removals', () => {
  it('include a removed id and no other', async () => {
    const removals = new RecentRemovals()
    await removals.trackRemoval('plan', Promise.resolve())
    assert.equal(await removals.includesAny('ehr', 'plan', undefined), true)
    assert.equal(await removals.includesAny('ehr', undefined), false)
  })

  it('wait for a running removal before they answer', async () => {
    const removals = new RecentRemovals()
    let finish = (): void => {}
    const removal = removals.trackRemoval('plan', new Promise((resolve) => (finish = resolve)))
    const included = removals.includesAny('plan')
    finish()
    await removal
    assert.equal(await included, true)
  })

  it('do not include a failed removal, and throw its error', async () => {
    const removals = new RecentRemovals()
    await assert.rejects(
      removals.trackRemoval('plan', Promise.reject(new Error('no database'))),
      /no database/,
    )
    assert.equal(await removals.includesAny('plan'), false)
  })

  it('forget a restored id', async () => {
    const removals = new RecentRemovals()
    await removals.trackRemoval('ehr', Promise.resolve())
    removals.forget('ehr')
    assert.equal(await removals.includesAny('ehr'), false)
  })
})
