import assert from 'node:assert/strict'
import { createBatcher } from '../../../../records/store/batching/micro-batcher.ts'

describe('the micro-batcher', () => {
  /** A batcher whose writes end when the test calls `end`. */
  function createPausedBatcher(most: number, apart?: Parameters<typeof createBatcher<number[]>>[2]) {
    const batches: number[][] = []
    const ends: Array<(failure?: Error) => void> = []
    const write = (items: number[][]): Promise<undefined[]> => {
      batches.push(items.flat())
      return new Promise((resolve, reject) =>
        ends.push((failure) => (failure ? reject(failure) : resolve([]))),
      )
    }
    const groups = createBatcher<number[]>(most, write, apart)
    const end = async (failure?: Error) => {
      ends.shift()?.(failure)
      await new Promise(setImmediate)
    }
    return { groups, batches, end }
  }

  it('batches items that arrive together or during a write, and resolves each with its batch', async () => {
    const { groups, batches, end } = createPausedBatcher(10)
    const finishedNames: string[] = []
    const add = (name: string, ...items: number[]) => groups.add(items).then(() => finishedNames.push(name))
    const writes = [add('a', 1), add('b', 2)]
    await new Promise(setImmediate)
    writes.push(add('c', 3, 4), add('d', 5))
    assert.deepEqual(batches, [[1, 2]])
    await end()
    assert.deepEqual(
      [batches, finishedNames],
      [
        [
          [1, 2],
          [3, 4, 5],
        ],
        ['a', 'b'],
      ],
    )
    await end()
    await Promise.all(writes)
    assert.deepEqual(finishedNames, ['a', 'b', 'c', 'd'])
  })

  it('gives each item its own result', async () => {
    const { add } = createBatcher<number, number>(10, async (items) =>
      items.map((item) => (item === 2 ? Promise.reject(new Error('odd')) : item * 10)),
    )
    const results = await Promise.allSettled([1, 2, 3].map(add))
    assert.deepEqual(
      results.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
      [10, 'Error: odd', 30],
    )
  })

  it('rejects the items of a failed batch, and writes the next one', async () => {
    const { groups, batches, end } = createPausedBatcher(1)
    const first = assert.rejects(groups.add([1]), /away/)
    const second = groups.add([2])
    await new Promise(setImmediate)
    await end(new Error('away'))
    await first
    await end()
    await second
    assert.deepEqual(batches, [[1], [2]])
  })

  it('writes items without common keys concurrently', async () => {
    const { groups, batches, end } = createPausedBatcher(10, {
      maxConcurrent: 2,
      keysOf: ([item = 0]) => [String(item % 10)],
    })
    const finishedItems: number[] = []
    const add = (item: number) => groups.add([item]).then(() => finishedItems.push(item))
    const turn = () => new Promise(setImmediate)
    const writes = [add(1)]
    await turn()
    writes.push(add(11), add(2), add(21))
    await turn()
    writes.push(add(3))
    await turn()
    assert.deepEqual(batches, [[1], [2]])
    await end()
    assert.deepEqual(batches, [[1], [2], [11, 21, 3]])
    await end()
    await end()
    await Promise.all(writes)
    assert.deepEqual(finishedItems, [1, 2, 11, 21, 3])
    await groups.waitUntilIdle()
  })

  it('is idle once all items are written', async () => {
    const { groups, end } = createPausedBatcher(10)
    await groups.waitUntilIdle()
    const added = groups.add([1])
    const idle = groups.waitUntilIdle().then(() => 'idle')
    await new Promise(setImmediate)
    assert.equal(await Promise.race([idle, new Promise((resolve) => setImmediate(resolve, 'busy'))]), 'busy')
    await end()
    assert.equal(await idle, 'idle')
    await added
  })
})
