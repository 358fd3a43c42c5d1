import assert from 'node:assert/strict'
import { DueRecords, runEach, throwErrors } from '../../../records/store/jobs/due-records.ts'
import { useTestStore } from '../../harness/test-store.ts'

const MAX_PER_RUN = 100
const NOW = new Date('2026-03-01T12:00:00Z')

describe('records whose step is due', () => {
  const opened = useTestStore()
  const steps = () => opened.db.collection<{ _id: string; dueAt?: Date }>('steps')
  const end = (_id: string) => steps().updateOne({ _id }, { $unset: { dueAt: '' } })
  const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

  beforeEach(async () => {
    await steps().deleteMany({})
  })

  it('get their turn although as many others as a run has fail each time', async () => {
    const broken = Array.from({ length: MAX_PER_RUN }, (_, i) => `broken ${i}`)
    await steps().insertMany(broken.map((_id) => ({ _id, dueAt: minutesAgo(2) })))
    await steps().insertMany([
      { _id: 'good', dueAt: minutesAgo(1) },
      { _id: 'later', dueAt: minutesAgo(-1) },
    ])
    const due = new DueRecords(opened, 'steps', 'dueAt')
    const step = async (id: string) => {
      if (id.startsWith('broken')) throw new Error(id)
      await end(id)
    }
    assert.equal((await due.run(NOW, step)).length, MAX_PER_RUN)
    assert.ok((await steps().findOne({ _id: 'good' }))?.dueAt)
    assert.equal((await due.run(NOW, step)).length, MAX_PER_RUN)
    assert.equal((await steps().findOne({ _id: 'good' }))?.dueAt, undefined)
    assert.ok((await steps().findOne({ _id: 'later' }))?.dueAt)
    assert.deepEqual(await due.run(NOW, end), [])
    assert.equal(await steps().countDocuments({ dueAt: { $lte: NOW } }), 0)
    assert.deepEqual(await due.run(NOW, async () => assert.fail('nothing is due')), [])
  })

  it('come in the order of their times, and each by itself', async () => {
    await steps().insertMany(
      [3, 1, 2].map((minutes) => ({ _id: String(minutes), dueAt: minutesAgo(minutes) })),
    )
    const processedIds: string[] = []
    const errors = await new DueRecords(opened, 'steps', 'dueAt').run(NOW, async (id) => {
      processedIds.push(id)
      throw new Error(id)
    })
    assert.deepEqual(processedIds, ['3', '2', '1'])
    assert.throws(() => throwErrors(errors, 'Some failed.'), { name: 'AggregateError', errors })
  })

  it('do not wait for one that fails: steps for given ids', async () => {
    const processedIds: string[] = []
    const errors = await runEach(['a', 'b'], async (id) => {
      processedIds.push(id)
      if (id === 'a') throw new Error(id)
    })
    assert.deepEqual([processedIds, errors.length], [['a', 'b'], 1])
    throwErrors([], 'Nothing failed.')
  })
})
