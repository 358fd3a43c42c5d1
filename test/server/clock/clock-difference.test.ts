import assert from 'node:assert/strict'
import { call } from '../../harness/clients/path-client.ts'
import { createPerson } from '../../harness/people/people.ts'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('a clock that is ahead of that of the database', function suite() {
  this.timeout(60_000)
  let instance: ServiceProcess
  before(async () => {
    instance = await startSecondInstance({
      NODE_OPTIONS: `--import ${new URL('./shifted-clock.js', import.meta.url)}`,
      CLOCK_SHIFT_MS: '50000',
      INSTANCES: 'several',
    })
  })
  after(() => stopProcess(instance))

  it('is reported in the log', () =>
    waitUntil(async () =>
      instance.output().includes('The clock of this machine is 50 s ahead of that of the database.'),
    ))

  it('does not end a session whose refresh is repeated after a lost response', async () => {
    const { refreshToken } = await createPerson()
    const body = { refreshToken }
    const firstAnswer = await call('POST', '/auth/login/token', body)
    const again = await fetch(`${instance.url}/auth/login/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert.deepEqual([firstAnswer.status, again.status], [200, 200])
    const { refreshToken: next } = (await again.json()) as { refreshToken: string }
    assert.equal(next, firstAnswer.body.refreshToken)
  })
})
