import assert from 'node:assert/strict'
import { ehrLockCollection, lockExclusive, lockShared } from '../../../../records/store/writing/ehr-locks.ts'
import { runStoreTransaction, type Transaction } from '../../../../records/store/writing/transaction.ts'
import { useTestStore } from '../../../harness/test-store.ts'

/** Resolves for all callers once the last one has arrived. */
function createBarrier(count: number): () => Promise<void> {
  let come = 0
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (++come === count) open()
    return opened
  }
}

describe('EHR locks', () => {
  const opened = useTestStore()
  const began: string[] = []
  const ended: string[] = []
  beforeEach(() => {
    began.length = 0
    ended.length = 0
  })

  const within = async (name: string, work: (tx: Transaction) => Promise<void>) => {
    await runStoreTransaction(opened.context, async (tx) => {
      began.push(name)
      await work(tx)
    })
    ended.push(name)
  }
  const adding = (name: string, ehrId: string, then: () => Promise<void>) =>
    within(name, async (tx) => {
      lockShared(opened.context, tx, [ehrId], [])
      await tx.pending.flush()
      await then()
    })

  it('let four transactions add to an EHR at the same time without a retry', async () => {
    const together = createBarrier(4)
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => adding(name, 'one', together)))
    assert.deepEqual(began.toSorted(), ['a', 'b', 'c', 'd'])
  })

  it('serialise an exclusive and a shared transaction, and retry the exclusive one', async () => {
    const added = createBarrier(2)
    const tried = createBarrier(2)
    const alone = within('alone', async (tx) => {
      await added()
      await lockExclusive(opened.context, tx, ['two']).finally(tried)
    })
    await adding('adds', 'two', async () => {
      await added()
      await tried()
    })
    await alone
    assert.deepEqual(ended, ['adds', 'alone'])
    assert.ok(
      began.filter((name) => name === 'alone').length > 1,
      'what was decided in vain is decided again',
    )
    const rows = await ehrLockCollection(opened.context).find({ _id: /^two/ }).toArray()
    assert.deepEqual(rows.map(({ turns }) => turns).toSorted(), [1, 1, 1, 2])
  })

  it('queue many exclusive transactions after a conflict, so that few attempts fail', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `writer ${i}`)
    const barrier = createBarrier(names.length)
    const alone = (name: string) =>
      within(name, async (tx) => {
        await ehrLockCollection(opened.context).findOne({ _id: 'four' }, { session: tx.session })
        await barrier()
        await lockExclusive(opened.context, tx, ['four'])
      })
    await Promise.all(names.map(alone))
    // All but one conflict with the first, and one of them again while the first is being committed.
    assert.ok(began.length <= 2 * names.length + 10, `${began.length} attempts`)
    const row = await ehrLockCollection(opened.context).findOne({ _id: 'four' })
    assert.equal(row?.turns, names.length)
  })

  it('make a writer wait while another transaction holds the EHR exclusively', async () => {
    const lockTaken = createBarrier(2)
    const go = createBarrier(2)
    const alone = within('alone', async (tx) => {
      await lockExclusive(opened.context, tx, ['three'])
      await lockTaken()
      await go()
    })
    await lockTaken()
    const free = opened.context.ehrLocks.waitUntilFree('three').then(() => ended.push('free'))
    await opened.context.ehrLocks.waitUntilFree('another')
    assert.deepEqual(ended, [], 'who adds elsewhere does not wait')
    await Promise.all([go(), alone, free])
    assert.deepEqual(ended.toSorted(), ['alone', 'free'])
    await opened.context.ehrLocks.waitUntilFree('three')
  })
})
