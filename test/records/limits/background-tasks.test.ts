import assert from 'node:assert/strict'
import { MongoServerError } from 'mongodb'
import { createBackgroundTasks } from '../../../records/accounts/background-tasks.ts'

describe('background tasks', () => {
  it('refuse further work after the disk of the database was full, and not after a defect', async () => {
    const faults: unknown[] = []
    const tasks = createBackgroundTasks((fault) => faults.push(fault))
    tasks.run(() => Promise.reject(new TypeError('a defect')))
    await tasks.close()
    tasks.run(() => Promise.reject(new MongoServerError({ message: 'no space', code: 14031 })))
    await tasks.close()
    assert.throws(() => tasks.run(async () => {}), { error: 'Unavailable' })
    assert.equal(faults.length, 2)
  })
})
