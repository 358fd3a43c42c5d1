import assert from 'node:assert/strict'
import {
  createSeededIdGenerators,
  createSequentialIdGenerator,
  newId,
} from '../../../../records/store/documents/ids.ts'

const generateIds = (source: () => string, count: number): string[] =>
  Array.from({ length: count }, createSequentialIdGenerator(source))

describe('sequential ids', () => {
  it('are unique, have the form of other ids, and share a prefix', () => {
    const ids = generateIds(newId, 1000)
    assert.equal(new Set(ids).size, 1000)
    for (const id of ids) assert.match(id, /^[A-Za-z0-9]{10}$/)
    assert.equal(new Set(ids.map((id) => id.slice(0, 7))).size, 1)
    assert.notEqual(
      generateIds(newId, 1)[0]?.slice(0, 7),
      ids[0]?.slice(0, 7),
      'of others, the head is another',
    )
  })

  it('stay unique when the counter wraps around', () => {
    const ids = generateIds(() => '9999999999', 3)
    assert.deepEqual(ids, ['9999999999', '9999999AAA', '9999999AAB'])
  })

  it('are the same for the same seed, so that a repeated request creates the same ids', () => {
    const seed = Buffer.from('seed')
    assert.deepEqual(
      generateIds(createSeededIdGenerators(seed).newId, 5),
      generateIds(createSeededIdGenerators(seed).newId, 5),
    )
  })
})
