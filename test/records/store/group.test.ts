import assert from 'node:assert/strict'
import { createGroups } from '../../../records/store/batching/group.ts'

describe('records/group', () => {
  /** Groups whose writes end when the test says so. */
  function held(most: number) {
    const batches: number[][] = []
    const ends: Array<(failure?: Error) => void> = []
    const groups = createGroups<number>(most, (items) => {
      batches.push(items)
      return new Promise((resolve, reject) => ends.push((failure) => (failure ? reject(failure) : resolve())))
    })
    const end = async (failure?: Error) => {
      ends.shift()?.(failure)
      await new Promise(setImmediate)
    }
    return { groups, batches, end }
  }

  it('writes together what arrives at once, and while a write is under way, and answers each with its own group', async () => {
    const { groups, batches, end } = held(10)
    const done: string[] = []
    const add = (name: string, ...items: number[]) => groups.add(items).then(() => done.push(name))
    const all = [add('a', 1), add('b', 2)]
    await new Promise(setImmediate)
    all.push(add('c', 3, 4), add('d', 5))
    assert.deepEqual(batches, [[1, 2]])
    await end()
    assert.deepEqual(
      [batches, done],
      [
        [
          [1, 2],
          [3, 4, 5],
        ],
        ['a', 'b'],
      ],
    )
    await end()
    await Promise.all(all)
    assert.deepEqual(done, ['a', 'b', 'c', 'd'])
  })

  it('fails those whose group failed, and goes on with the next', async () => {
    const { groups, batches, end } = held(1)
    const first = assert.rejects(groups.add([1]), /away/)
    const second = groups.add([2])
    await new Promise(setImmediate)
    await end(new Error('away'))
    await first
    await end()
    await second
    assert.deepEqual(batches, [[1], [2]])
  })

  it('is idle when everything is written', async () => {
    const { groups, end } = held(10)
    await groups.idle()
    const added = groups.add([1])
    const idle = groups.idle().then(() => 'idle')
    await new Promise(setImmediate)
    assert.equal(await Promise.race([idle, new Promise((resolve) => setImmediate(resolve, 'busy'))]), 'busy')
    await end()
    assert.equal(await idle, 'idle')
    await added
  })
})
