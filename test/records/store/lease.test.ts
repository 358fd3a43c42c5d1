import assert from 'node:assert/strict'
import { dueCondition, isLeaseHeld } from '../../../records/store/clocks/lease.ts'

describe('a lease', () => {
  const LENGTH_MS = 5_000
  const inMs = (ms: number) => new Date(Date.now() + ms)

  it('is held until its end', () => {
    assert.equal(isLeaseHeld(inMs(4_000), LENGTH_MS), true)
    assert.equal(isLeaseHeld(inMs(-1), LENGTH_MS), false)
    assert.equal(isLeaseHeld(new Date(0), LENGTH_MS), false)
  })

  it('is held when it was taken by an instance whose clock is ahead by less than a minute', () =>
    assert.equal(isLeaseHeld(inMs(LENGTH_MS + 50_000), LENGTH_MS), true))

  it('is free when it was taken before the clock was set back', () =>
    assert.equal(isLeaseHeld(inMs(7_200_000), LENGTH_MS), false))

  it('has the same limits in a query', () => {
    const [past, future] = dueCondition('dueAt', LENGTH_MS, 1_000_000).$or
    assert.deepEqual(past, { dueAt: { $lte: new Date(1_000_000) } })
    assert.deepEqual(future, { dueAt: { $gt: new Date(1_065_000) } })
  })
})
