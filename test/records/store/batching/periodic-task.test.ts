import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { startPeriodicTask } from '../../../../records/store/batching/periodic-task.ts'

const failOnFault = (fault: unknown): void => assert.ifError(fault)

describe('a periodic task', () => {
  /** Slow work that counts its runs. */
  function slowWork() {
    const counts = { runs: 0, atOnce: 0, most: 0 }
    const work = async (): Promise<void> => {
      counts.runs++
      counts.most = Math.max(counts.most, ++counts.atOnce)
      await wait(20)
      counts.atOnce--
    }
    return { counts, work }
  }

  it('starts at once, and never runs its work twice at the same time', async () => {
    const { counts, work } = slowWork()
    const loop = startPeriodicTask(5, work, failOnFault)
    assert.equal(counts.runs, 1)
    await wait(100)
    await loop.stop()
    assert.ok(counts.runs > 1)
    assert.equal(counts.most, 1)
  })

  it('stops after the current run, and does nothing afterwards', async () => {
    const { counts, work } = slowWork()
    const loop = startPeriodicTask(5, work, failOnFault)
    await loop.stop()
    assert.deepEqual([counts.runs, counts.atOnce], [1, 0])
    loop.wake()
    await wait(20)
    assert.equal(counts.runs, 1)
  })

  it('runs once more when it is woken during a run', async () => {
    const { counts, work } = slowWork()
    const loop = startPeriodicTask(60_000, work, failOnFault)
    loop.wake()
    loop.wake()
    await wait(100)
    assert.equal(counts.runs, 2)
    await loop.stop()
  })

  it('reports a fault and continues', async () => {
    const faults: unknown[] = []
    const fail = () => Promise.reject(new Error(`no database ${faults.length}`))
    const loop = startPeriodicTask(5, fail, (fault) => faults.push(fault))
    await wait(50)
    await loop.stop()
    assert.ok(faults.length > 1)
  })
})
