import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { password } from '../harness/people/people.ts'
import { startSmtp } from '../harness/people/smtp.ts'
import { clientOf, type ServiceProcess, startServing, stopProcess } from '../harness/service/process.ts'
import { until } from '../harness/until.ts'

describe('attack: whoever has mails sent to somebody', function suite() {
  this.timeout(120_000)
  let smtp: Awaited<ReturnType<typeof startSmtp>>
  let service: ServiceProcess
  before(async () => {
    smtp = await startSmtp()
    // Past the limits: as if many addresses asked.
    const limits = { LOGIN_ATTEMPTS: '1000', ACCOUNT_LOGIN_ATTEMPTS: '1000' }
    service = await startServing({ SMTP_URL: smtp.url, LOG_LEVEL: 'warn', ...limits })
  })
  after(async () => {
    await stopProcess(service)
    await smtp.close()
  })

  it('has five sent in an hour at most', async () => {
    const received = (to: string) => smtp.received.filter((text) => text.includes(to)).length
    const register = (email: string) =>
      clientOf(service)('/auth/account/register/password', { email, password, termsAccepted: true })
    for (let i = 0; i < 10; i++) {
      await register('flooded@example.org')
      await sleep(100)
    }
    await until(() => received('flooded@example.org') >= 5)
    // What was asked for later comes later.
    await register('somebody@example.org')
    await until(() => received('somebody@example.org') > 0)
    assert.equal(received('flooded@example.org'), 5)
  })
})
