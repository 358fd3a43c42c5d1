import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { periodically } from '../../../records/store/batching/periodically.ts'

const unexpected = (fault: unknown): void => assert.ifError(fault)

describe('a periodic loop', () => {
  /** Work that takes a while, and what was seen of it. */
  function slowWork() {
    const seen = { runs: 0, atOnce: 0, most: 0 }
    const work = async (): Promise<void> => {
      seen.runs++
      seen.most = Math.max(seen.most, ++seen.atOnce)
      await wait(20)
      seen.atOnce--
    }
    return { seen, work }
  }

  it('begins at once, and never does its work twice at the same time', async () => {
    const { seen, work } = slowWork()
    const loop = periodically(5, work, unexpected)
    assert.equal(seen.runs, 1)
    await wait(100)
    await loop.end()
    assert.ok(seen.runs > 1)
    assert.equal(seen.most, 1)
  })

  it('ends when the run under way is over, and does nothing afterwards', async () => {
    const { seen, work } = slowWork()
    const loop = periodically(5, work, unexpected)
    await loop.end()
    assert.deepEqual([seen.runs, seen.atOnce], [1, 0])
    loop.wake()
    await wait(20)
    assert.equal(seen.runs, 1)
  })

  it('goes once more when it is woken under way', async () => {
    const { seen, work } = slowWork()
    const loop = periodically(60_000, work, unexpected)
    loop.wake()
    loop.wake()
    await wait(100)
    assert.equal(seen.runs, 2)
    await loop.end()
  })

  it('tells a fault and goes on', async () => {
    const faults: unknown[] = []
    const fail = () => Promise.reject(new Error(`no database ${faults.length}`))
    const loop = periodically(5, fail, (fault) => faults.push(fault))
    await wait(50)
    await loop.end()
    assert.ok(faults.length > 1)
  })
})
