import assert from 'node:assert/strict'
import { type AuditedAccess, macOfEntry, parseEntryId } from '../../../../records/store/audit/chains/chain.ts'
import { type AuditChain, createChainPool } from '../../../../records/store/audit/chains/chain-pool.ts'

const access: AuditedAccess = {
  requestId: 'r',
  userId: 'u',
  application: 'a',
  action: 'read',
  ehrId: 'e',
  type: 'Note',
  ids: ['1'],
  outcome: 'done',
}
const time = new Date()

describe('the audit chain pool', () => {
  it('links each entry to the one before, and advances the head only after a successful write', async () => {
    const chains = createChainPool(3, 'key')
    const chain = await chains.acquire()
    const [undone] = chain.link([access], time)
    chains.release(chain, 'not written')
    assert.deepEqual(chains.heads(), [])

    const sameChain = await chains.acquire()
    const [first, second] = sameChain.link([access, access], time)
    chains.release(sameChain, 'written')
    assert.equal(first?._id, undone?._id)
    assert.equal(first?._id, '3-0-000000000001')
    assert.equal(
      second?.mac,
      macOfEntry('key', first?.mac ?? '', { ...access, _id: second?._id ?? '', at: time }),
    )
    assert.deepEqual(chains.heads(), [{ chain: '3-0', sequence: 2, mac: second?.mac }])
  })

  it('hands out no chain that is in use, or whose last write is in doubt', async () => {
    const chains = createChainPool(1, 'key')
    const [a, b] = await Promise.all([chains.acquire(), chains.acquire()])
    assert.notEqual(a.chain, b.chain)
    chains.release(a, 'in doubt')
    chains.release(b, 'written')
    assert.equal((await chains.acquire()).chain, b.chain)
    assert.notEqual((await chains.acquire()).chain, a.chain)
  })

  it('opens at most 64 chains at a time, also when chains are lost', async () => {
    const chains = createChainPool(1, 'key')
    let holding = 0
    let most = 0
    const use = async (i: number): Promise<string> => {
      const chain: AuditChain = await chains.acquire()
      most = Math.max(most, ++holding)
      const [entry] = chain.link([access], time)
      await new Promise(setImmediate)
      holding -= 1
      chains.release(chain, i % 3 === 0 ? 'in doubt' : 'written')
      return parseEntryId(entry?._id ?? '').chain
    }
    await Promise.all(Array.from({ length: 1000 }, (_, i) => use(i)))
    assert.equal(most, 64)
  })
})
