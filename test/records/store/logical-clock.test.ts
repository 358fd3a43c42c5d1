import assert from 'node:assert/strict'
import { LogicalClock } from '../../../records/store/clocks/logical-clock.ts'

describe('the logical clock', () => {
  it('follows another instance as soon as it sees its changes, and tells it once', async () => {
    let newestInDatabase = 5
    let warnings = 0
    const clock = new LogicalClock(async (knownTime) => Math.max(knownTime, newestInDatabase))
    clock.onOtherWriter = () => {
      warnings++
    }
    newestInDatabase = await clock.next()
    await clock.refresh(0)
    assert.equal(warnings, 0)
    newestInDatabase += 1_000_000
    await clock.refresh(0)
    assert.equal(warnings, 1)
    newestInDatabase += 1_000_000
    assert.ok((await clock.next()) > newestInDatabase)
    assert.equal(warnings, 1)
  })

  it('does not suspect another instance if it is told of several', async () => {
    let newestInDatabase = 5
    const clock = new LogicalClock(async () => newestInDatabase)
    clock.onOtherWriter = () => assert.fail('it has been told')
    clock.followOtherInstances()
    await clock.refresh(0)
    newestInDatabase += 1_000_000
    assert.ok((await clock.next()) > newestInDatabase)
  })
})
