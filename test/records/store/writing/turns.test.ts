import assert from 'node:assert/strict'
import { inTransaction, type Transaction } from '../../../../records/store/writing/transaction.ts'
import { takeAlone, takeToAdd, turnsOf } from '../../../../records/store/writing/turns.ts'
import { recordsOfBlock } from '../../../harness/test-records.ts'

/** Resolves for all when so many have come. */
function meeting(of: number): () => Promise<void> {
  let come = 0
  let open = (): void => {}
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (++come === of) open()
    return all
  }
}

describe('the turns of an EHR', () => {
  const opened = recordsOfBlock()
  const began: string[] = []
  const ended: string[] = []
  beforeEach(() => {
    began.length = 0
    ended.length = 0
  })

  const within = async (name: string, work: (tx: Transaction) => Promise<void>) => {
    await inTransaction(opened.records, async (tx) => {
      began.push(name)
      await work(tx)
    })
    ended.push(name)
  }
  const adding = (name: string, ehrId: string, then: () => Promise<void>) =>
    within(name, async (tx) => {
      await takeToAdd(opened.records, tx, [ehrId], [])
      await then()
    })

  it('are taken by four who add to it at the same time, and none of them is repeated', async () => {
    const together = meeting(4)
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => adding(name, 'one', together)))
    assert.deepEqual(began.toSorted(), ['a', 'b', 'c', 'd'])
  })

  it('are taken one after the other by those who have it alone, and those who add', async () => {
    const [added, tried] = [meeting(2), meeting(2)]
    const alone = within('alone', async (tx) => {
      await added()
      await takeAlone(opened.records, tx, ['two']).finally(tried)
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
    const rows = await turnsOf(opened.records).find({ _id: /^two/ }).toArray()
    assert.deepEqual(rows.map(({ turns }) => turns).toSorted(), [1, 1, 1, 2])
  })

  it('are taken in the order in which they met by many who have it alone, and hardly one in vain', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `writer ${i}`)
    const all = meeting(names.length)
    const alone = (name: string) =>
      within(name, async (tx) => {
        await turnsOf(opened.records).findOne({ _id: 'four' }, { session: tx.session })
        await all()
        await takeAlone(opened.records, tx, ['four'])
      })
    await Promise.all(names.map(alone))
    // Each but one meets the first, and one of them again while that one is being committed.
    assert.ok(began.length <= 2 * names.length + 10, `${began.length} attempts`)
    const row = await turnsOf(opened.records).findOne({ _id: 'four' })
    assert.equal(row?.turns, names.length)
  })

  it('are waited for by who would add, as long as somebody has it alone', async () => {
    const [taken, go] = [meeting(2), meeting(2)]
    const alone = within('alone', async (tx) => {
      await takeAlone(opened.records, tx, ['three'])
      await taken()
      await go()
    })
    await taken()
    const free = opened.records.turns.free('three').then(() => ended.push('free'))
    await opened.records.turns.free('another')
    assert.deepEqual(ended, [], 'who adds elsewhere does not wait')
    await Promise.all([go(), alone, free])
    assert.deepEqual(ended.toSorted(), ['alone', 'free'])
    await opened.records.turns.free('three')
  })
})
