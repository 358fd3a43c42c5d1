import assert from 'node:assert/strict'
import { idsTogether, newId, seededIds } from '../../../../records/store/documents/ids.ts'

const newIds = (source: () => string, count: number): string[] =>
  Array.from({ length: count }, idsTogether(source))

describe('ids that are made together', () => {
  it('are all different, have the form of every other id, and lie together', () => {
    const ids = newIds(newId, 1000)
    assert.equal(new Set(ids).size, 1000)
    for (const id of ids) assert.match(id, /^[A-Za-z0-9]{10}$/)
    assert.equal(new Set(ids.map((id) => id.slice(0, 7))).size, 1)
    assert.notEqual(newIds(newId, 1)[0]?.slice(0, 7), ids[0]?.slice(0, 7), 'of others, the head is another')
  })

  it('are different also where their numbers begin again', () => {
    const ids = newIds(() => '9999999999', 3)
    assert.deepEqual(ids, ['9999999999', '9999999AAA', '9999999AAB'])
  })

  it('are the same for the same seed, so that a request that is sent again makes the same ones', () => {
    const seed = Buffer.from('seed')
    assert.deepEqual(newIds(seededIds(seed).newId, 5), newIds(seededIds(seed).newId, 5))
  })
})
