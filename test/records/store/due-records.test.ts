import assert from 'node:assert/strict'
import { DueRecords, runEach, runPages, throwErrors } from '../../../records/store/jobs/due-records.ts'
import { useTestStore } from '../../harness/test-store.ts'

const MANY = 100
const NOW = new Date('2026-03-01T12:00:00Z')

describe('records whose step is due', () => {
  const opened = useTestStore()
  const steps = () => opened.db.collection<{ _id: string; ehrId?: string; dueAt?: Date }>('steps')
  const end = (_id: string) => steps().updateOne({ _id }, { $unset: { dueAt: '' } })
  const minutesAgo = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000)

  beforeEach(async () => {
    await steps().deleteMany({})
  })

  const run = (due: DueRecords, step: (id: string) => Promise<unknown>) =>
    runPages(() => due.runPage(NOW, step), 'Some failed.')

  it('get their turn although many others fail each time', async () => {
    const broken = Array.from({ length: MANY }, (_, i) => `broken ${i}`)
    await steps().insertMany(broken.map((_id) => ({ _id, dueAt: minutesAgo(2) })))
    await steps().insertMany([
      { _id: 'good', dueAt: minutesAgo(1) },
      { _id: 'later', dueAt: minutesAgo(-1) },
    ])
    const due = new DueRecords(opened, 'steps', 'dueAt')
    const failedIds = new Set<string>()
    const step = async (id: string) => {
      if (!id.startsWith('broken')) return end(id)
      failedIds.add(id)
      throw new Error(id)
    }
    await assert.rejects(run(due, step), AggregateError)
    assert.equal(failedIds.size, MANY)
    assert.equal((await steps().findOne({ _id: 'good' }))?.dueAt, undefined)
    assert.ok((await steps().findOne({ _id: 'later' }))?.dueAt)
    await steps().insertOne({ _id: 'new', dueAt: minutesAgo(1) })
    const ids: string[] = []
    for (let i = 0; i < MANY; i += 1)
      await run(due, async (id) => {
        ids.push(id)
        await end(id)
      })
    assert.deepEqual([ids[0], ids.length], ['new', MANY + 1])
    assert.equal(await steps().countDocuments({ dueAt: { $lte: NOW } }), 0)
    await run(due, async () => assert.fail('nothing is due'))
  })

  it('end although more of them fail than it remembers', async () => {
    const broken = Array.from({ length: 1_020 }, (_, i) => ({ _id: `broken ${i}`, dueAt: minutesAgo(1) }))
    await steps().insertMany(broken)
    let tries = 0
    const step = () => {
      tries += 1
      return Promise.reject(new Error('broken'))
    }
    await assert.rejects(run(new DueRecords(opened, 'steps', 'dueAt'), step), AggregateError)
    assert.ok(tries >= 1_000 && tries < 1_100, `${tries}`)
  })

  it('come in the order of their times, and each by itself', async () => {
    await steps().insertMany(
      [3, 1, 2].map((minutes) => ({ _id: String(minutes), dueAt: minutesAgo(minutes) })),
    )
    const processedIds: string[] = []
    const due = new DueRecords(opened, 'steps', 'dueAt')
    const { errors } = await due.runPage(NOW, async (id) => {
      processedIds.push(id)
      throw new Error(id)
    })
    assert.deepEqual(processedIds, ['3', '2', '1'])
    assert.throws(() => throwErrors(errors, 'Some failed.'), { name: 'AggregateError', errors })
  })

  it('take turns with those of other EHRs, however many one EHR has', async () => {
    const flood = Array.from({ length: 3 * MANY }, (_, i) => ({
      _id: `flood ${i}`,
      ehrId: 'noisy',
      dueAt: minutesAgo(9),
    }))
    await steps().insertMany([...flood, { _id: 'quiet', ehrId: 'quiet', dueAt: minutesAgo(1) }])
    const processedIds: string[] = []
    await run(new DueRecords(opened, 'steps', 'dueAt'), async (id) => {
      processedIds.push(id)
      await end(id)
    })
    assert.equal(processedIds.indexOf('quiet'), 1)
    assert.equal(processedIds.length, flood.length + 1)
  })

  it('stop between two pages when the service ends', async () => {
    await steps().insertMany(
      Array.from({ length: MANY }, (_, i) => ({ _id: String(i), dueAt: minutesAgo(1) })),
    )
    const due = new DueRecords(opened, 'steps', 'dueAt')
    await runPages(() => due.runPage(NOW, end), 'Some failed.', AbortSignal.abort())
    const left = await steps().countDocuments({ dueAt: { $lte: NOW } })
    assert.ok(left > 0 && left < MANY)
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
