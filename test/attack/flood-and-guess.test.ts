import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { password } from '../harness/people/people.ts'
import { startSmtp } from '../harness/people/smtp.ts'
import { databaseUri } from '../harness/run.ts'
import {
  clientOf,
  newDataDir,
  type ServiceProcess,
  startServing,
  stopProcess,
} from '../harness/service/process.ts'

const many = 12
/** Calls of one operation from one address, as the service is told here. */
const allowed = 8

describe('attack: whoever asks without end', function suite() {
  this.timeout(120_000)
  let smtp: Awaited<ReturnType<typeof startSmtp>>
  /** Two that serve one public on one database. */
  const instances: ServiceProcess[] = []

  before(async () => {
    smtp = await startSmtp()
    const env = {
      ...{ SMTP_URL: smtp.url, LOG_LEVEL: 'warn', INSTANCES: 'several', MONGODB_URI: databaseUri('flood') },
      ...{ LOGIN_ATTEMPTS: String(allowed), ACCOUNT_LOGIN_ATTEMPTS: '6' },
    }
    const first = await startServing(env)
    const DATA_DIR = newDataDir()
    copyFileSync(join(first.dataDir, 'keys.json'), join(DATA_DIR, 'keys.json'))
    instances.push(first, await startServing({ ...env, DATA_DIR }))
  })
  after(async () => {
    await Promise.all(instances.map(stopProcess))
    await smtp.close()
  })

  /** Asks the instances in turn, whichever route. @returns how often that was refused */
  async function refusals(paths: readonly string[], body: (i: number) => object): Promise<number> {
    const clients = instances.map(clientOf)
    let refused = 0
    for (let i = 0; i < many; i++) {
      const answer = await clients[i % clients.length]?.(paths[i % paths.length] ?? '', body(i))
      if (answer?.status === 429) refused++
    }
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
    it(`meets one limit for ${what}, whichever family and instance is asked`, async () => {
      const named = (i: number) => {
        const sent = body(i) as { email: string }
        return paths[i % paths.length] === '/1/users' ? { username: sent.email, ...sent } : sent
      }
      assert.equal(await refusals(paths, named), many - allowed)
    })
})
