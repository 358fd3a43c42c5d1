import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { password } from '../harness/people/people.ts'
import { startSmtp } from '../harness/people/smtp.ts'
import { type ServiceProcess, startProcess, stopProcess } from '../harness/service/process.ts'

const many = 12
/** Calls of one operation from one address, as the service is told here. */
const allowed = 8

describe('attack: whoever asks without end', function suite() {
  this.timeout(120_000)
  let smtp: Awaited<ReturnType<typeof startSmtp>>
  let service: ServiceProcess
  let headers: Record<string, string>

  before(async () => {
    smtp = await startSmtp()
    service = await startProcess({
      ...{ SMTP_URL: smtp.url, LOG_LEVEL: 'warn', INSTANCES: 'several' },
      ...{ LOGIN_ATTEMPTS: String(allowed), ACCOUNT_LOGIN_ATTEMPTS: '6' },
    })
    await service.ready
    const { applicationId, restApiKey } = JSON.parse(readFileSync(join(service.dataDir, 'keys.json'), 'utf8'))
    headers = { 'X-Parse-Application-Id': applicationId, 'X-Parse-REST-API-Key': restApiKey }
  })
  after(async () => {
    await stopProcess(service)
    await smtp.close()
  })

  async function post(path: string, body: object): Promise<number> {
    const options = { 'content-type': 'application/json', ...headers }
    const answer = await fetch(service.url + path, {
      method: 'POST',
      headers: options,
      body: JSON.stringify(body),
    })
    await answer.text()
    return answer.status
  }
  const refusals = async (paths: readonly string[], body: (i: number) => object): Promise<number> => {
    let refused = 0
    for (let i = 0; i < many; i++) if ((await post(paths[i % paths.length] ?? '', body(i))) === 429) refused++
    return refused
  }

  const kinds: [what: string, paths: string[], body: (i: number) => object][] = [
    [
      'sign-ups from one address',
      ['/1/users', '/auth/account/register/password'],
      (i) => ({ email: `flood-${i}@example.org`, password, termsAccepted: true }),
    ],
    [
      'resets from one address',
      ['/1/requestPasswordReset', '/auth/account/password/reset'],
      (i) => ({ email: `nobody-${i}@example.org` }),
    ],
    [
      'verification mails from one address',
      ['/1/verificationEmailRequest', '/auth/account/register/resend'],
      (i) => ({ email: `nobody-${i}@example.org` }),
    ],
    [
      'logins from one address',
      ['/1/login', '/functions/Login', '/auth/login/password'],
      (i) => ({ email: `nobody-${i}@example.org`, password }),
    ],
  ]
  for (const [what, paths, body] of kinds)
    it(`meets one limit for ${what}, whichever family is asked`, async () => {
      const named = (i: number) => {
        const sent = body(i) as { email: string }
        return paths[i % paths.length] === '/1/users' ? { username: sent.email, ...sent } : sent
      }
      assert.equal(await refusals(paths, named), many - allowed)
    })

  it('sends one person five mails an hour at most', async () => {
    const to = 'flood-0@example.org'
    const received = () => smtp.received.filter((text) => text.includes(to)).length
    // Past the limits: as if many addresses asked.
    const proxies = await startProcess({
      ...{ SMTP_URL: smtp.url, LOG_LEVEL: 'warn', LOGIN_ATTEMPTS: '1000', ACCOUNT_LOGIN_ATTEMPTS: '1000' },
    })
    try {
      await proxies.ready
      const register = (email: string) =>
        fetch(`${proxies.url}/auth/account/register/password`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ email, password, termsAccepted: true }),
        })
      const before = received()
      for (let i = 0; i < 10; i++) {
        await register(to)
        await sleep(100)
      }
      for (let i = 0; i < 200 && received() - before < 5; i++) await sleep(50)
      await sleep(1_000)
      assert.equal(received() - before, 5)
    } finally {
      await stopProcess(proxies)
    }
  })
})
