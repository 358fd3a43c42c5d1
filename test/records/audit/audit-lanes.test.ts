import assert from 'node:assert/strict'
import { type Access, entryMac, placeOf } from '../../../records/store/audit/chain.ts'
import { type Lane, openLanes } from '../../../records/store/audit/lanes.ts'

const access: Access = {
  requestId: 'r',
  userId: 'u',
  application: 'a',
  action: 'read',
  ehrId: 'e',
  type: 'Note',
  ids: ['1'],
  outcome: 'done',
}
const at = new Date()

describe('records/audit-lanes', () => {
  it('links each entry behind the one before it, and moves on only when it was written', async () => {
    const lanes = openLanes(3, 'key')
    const lane = await lanes.take()
    const [undone] = lane.link([access], at)
    lanes.give(lane, 'not written')
    assert.deepEqual(lanes.heads(), [])

    const again = await lanes.take()
    const [first, second] = again.link([access, access], at)
    lanes.give(again, 'written')
    assert.equal(first?._id, undone?._id)
    assert.equal(first?._id, '3-0-000000000001')
    assert.equal(second?.mac, entryMac('key', first?.mac ?? '', { ...access, _id: second?._id ?? '', at }))
    assert.deepEqual(lanes.heads(), [{ chain: '3-0', sequence: 2, mac: second?.mac }])
  })

  it('gives nobody a lane that another holds, nor one whose last write is in doubt', async () => {
    const lanes = openLanes(1, 'key')
    const [a, b] = await Promise.all([lanes.take(), lanes.take()])
    assert.notEqual(a.chain, b.chain)
    lanes.give(a, 'in doubt')
    lanes.give(b, 'written')
    assert.equal((await lanes.take()).chain, b.chain)
    assert.notEqual((await lanes.take()).chain, a.chain)
  })

  it('makes more than 64 writers wait their turn, also when lanes are lost', async () => {
    const lanes = openLanes(1, 'key')
    let holding = 0
    let most = 0
    const use = async (i: number): Promise<string> => {
      const lane: Lane = await lanes.take()
      most = Math.max(most, ++holding)
      const [entry] = lane.link([access], at)
      await new Promise(setImmediate)
      holding -= 1
      lanes.give(lane, i % 3 === 0 ? 'in doubt' : 'written')
      return placeOf(entry?._id ?? '').chain
    }
    await Promise.all(Array.from({ length: 1000 }, (_, i) => use(i)))
    assert.equal(most, 64)
  })
})
