import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSmtpServer } from '../harness/mail/smtp-server.ts'
import { password } from '../harness/people/people.ts'
import { databaseUri } from '../harness/run.ts'
import {
  createDataDir,
  createProcessClient,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../harness/service/service-process.ts'

const many = 12
/** The number of calls of one operation from one address, as this service is configured. */
const allowed = 8

describe('attack: endless requests and guesses', function suite() {
  this.timeout(120_000)
  let smtp: Awaited<ReturnType<typeof startSmtpServer>>
  /** Two instances with one database and one public URL. */
  const instances: ServiceProcess[] = []

  before(async () => {
    smtp = await startSmtpServer()
    const env = {
      SMTP_URL: smtp.url,
      LOG_LEVEL: 'warn',
      INSTANCES: 'several',
      MONGODB_URI: databaseUri('flood'),
      LOGIN_ATTEMPTS: String(allowed),
      ACCOUNT_LOGIN_ATTEMPTS: '6',
    }
    const service = await startServiceProcess(env)
    const DATA_DIR = createDataDir()
    copyFileSync(join(service.dataDir, 'keys.json'), join(DATA_DIR, 'keys.json'))
    instances.push(service, await startServiceProcess({ ...env, DATA_DIR }))
  })
  after(async () => {
    await Promise.all(instances.map(stopProcess))
    await smtp.close()
  })

  /** Calls the instances in turn, on each route. @returns how many calls were refused */
  async function refusals(paths: readonly string[], body: (i: number) => object): Promise<number> {
    const clients = instances.map(createProcessClient)
    let refusedCount = 0
    for (let i = 0; i < many; i++) {
      const answer = await clients[i % clients.length]?.(paths[i % paths.length] ?? '', body(i))
      if (answer?.status === 429) refusedCount++
    }
    return refusedCount
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
    it(`applies one limit to ${what}, across families and instances`, async () => {
      const createBody = (i: number) => {
        const fields = body(i) as { email: string }
        return paths[i % paths.length] === '/1/users' ? { username: fields.email, ...fields } : fields
      }
      assert.equal(await refusals(paths, createBody), many - allowed)
    })

  it('counts no exchange of a random secret as a guess', async () => {
    assert.equal(await refusals(['/auth/login/token'], (i) => ({ refreshToken: `unknown-${i}` })), 0)
    const { url } = instances[0] as ServiceProcess
    for (const path of ['/auth/token', '/auth/smart/token', '/auth/smart/introspect'])
      for (let i = 0; i < many; i++) {
        const body = new URLSearchParams({ grant_type: 'client_credentials', token: 'x', client_id: 'x' })
        assert.equal((await fetch(url + path, { method: 'POST', body })).status, 401, path)
      }
  })
})
