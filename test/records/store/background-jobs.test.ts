import assert from 'node:assert/strict'
import type { PeriodicTask } from '../../../records/store/batching/periodic-task.ts'
import type { Job } from '../../../records/store/documents/job.ts'
import { type JobHandler, JobRunner, jobCollection } from '../../../records/store/jobs/background-jobs.ts'
import { useTestStore } from '../../harness/test-store.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('background jobs', () => {
  const opened = useTestStore()
  const polls: PeriodicTask[] = []
  const faults: unknown[] = []
  const jobs = () => jobCollection(opened)
  afterEach(async () => {
    await Promise.all(polls.splice(0).map((one) => one.stop()))
    assert.deepEqual(faults.splice(0), [])
  })

  /** Leaves a job whose instance has ended. */
  const leaveJob = async (): Promise<void> => {
    const by = { userId: 'u', application: 'tests', requestId: 'r' }
    const work: Omit<Job, '_id'> = {
      job: 'count',
      field: 'ehrId',
      id: 'e',
      ehrId: 'e',
      by,
      leaseUntil: new Date(0),
    }
    await jobs().replaceOne({ _id: 'ehrId$e' }, work, { upsert: true })
  }
  const startInstance = async (count: JobHandler): Promise<void> => {
    const { client } = opened.context
    const runner = new JobRunner({ client, db: opened.db }, [], true)
    polls.push(
      await runner.startPolling({ ...opened.context, jobs: runner }, { count }, (fault) =>
        faults.push(fault),
      ),
    )
  }

  it('are taken over by one of several instances', async () => {
    await leaveJob()
    let runs = 0
    const count: JobHandler = async (_, { runLastStep }) => {
      runs += 1
      await runLastStep()
    }
    const instances = Array.from({ length: 8 }, () => count)
    // With open connections, all instances find the job before one of them takes it over.
    await Promise.all(instances.map(() => jobs().countDocuments()))
    await Promise.all(instances.map(startInstance))
    await waitUntil(async () => (await jobs().countDocuments()) === 0)
    assert.equal(runs, 1)
  })

  it('end before their next step when another job has replaced them', async () => {
    await leaveJob()
    const done: string[] = []
    let isOver = false
    await startInstance(async (_, { runStep }) => {
      await runStep(async () => done.push('first'))
      await jobs().updateOne(
        { _id: 'ehrId$e' },
        { $set: { job: 'other', leaseUntil: new Date(Date.now() + 5_000) } },
      )
      await runStep(async () => done.push('second')).finally(() => {
        isOver = true
      })
    })
    await waitUntil(() => isOver)
    assert.deepEqual(done, ['first'])
    await jobs().deleteMany({})
  })
})
