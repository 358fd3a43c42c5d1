import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { tokenInLink, waitForMailIn } from '../harness/mail/outbox.ts'
import {
  apiKeysOf,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../harness/service/service-process.ts'
import { waitFor } from '../harness/wait.ts'

/** The promised time of requests during an outage, plus the delay of a busy machine. */
const PROMISED_MS = 5_000
const MACHINE_MS = 5_000

type Call = [method: string, path: string, body?: object]

const statOf = (pid: string): string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
  } catch {
    return []
  }
}

const isEngine = (pid: string): boolean =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('embedded-mongo')

/** The engine is a child of the service, which may have others. */
const engineOf = ({ child }: ServiceProcess): number => {
  const children = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && statOf(pid)[1] === String(child.pid) && isEngine(pid),
  )
  assert.equal(children.length, 1)
  return Number(children[0])
}

describe('a frozen database', function suite() {
  this.timeout(120_000)
  let service: ServiceProcess
  let engine: number
  let headers: Record<string, string>
  let ehrId: string
  let mvUid: string
  let plan: string
  const account = { email: 'frozen@example.org', password: 'correct horse battery staple' }

  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(service.url + path, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })

  const read = async (method: string, path: string, body?: object) => {
    const response = await send(method, path, body)
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }

  before(async () => {
    service = await startServiceProcess({
      ADDRESS_RATE: '1000000',
      ACCOUNT_RATE: '1000000',
      LOGIN_ATTEMPTS: '1000',
      ACCOUNT_LOGIN_ATTEMPTS: '1000',
    })
    engine = engineOf(service)
    headers = {}
    await read('POST', '/auth/account/register/password', { ...account, termsAccepted: true })
    const mail = await waitForMailIn(service.dataDir, account.email)
    await read('POST', '/auth/account/register/activate', { token: tokenInLink(mail) })
    const grant = await read('POST', '/auth/login/password', account)
    mvUid = grant.mvUid
    headers = {
      authorization: `Bearer ${grant.authToken}`,
      ...apiKeysOf(service),
      'X-Parse-Session-Token': grant.sessionToken,
    }
    ehrId = (await read('GET', '/ehr')).items[0].id
    plan = (await read('POST', `/ehr/${ehrId}/careplan`, { name: 'Before' })).id
  })
  after(async () => {
    process.kill(engine, 'SIGCONT')
    await stopProcess(service)
  })

  const calls = (): Call[] => [
    ['GET', `/ehr/${ehrId}/careplan/${plan}`],
    ['GET', `/ehr/${ehrId}/careplan`],
    ['GET', `/ehr/${ehrId}/audit`],
    ['GET', `/profile/${mvUid}`],
    ['GET', '/ehr'],
    ...['A', 'B', 'C'].map((name): Call => ['POST', `/ehr/${ehrId}/careplan`, { name }]),
    ['POST', `/ehr/${ehrId}/careplan/${plan}/goal`, { name: 'Goal' }],
    ['PUT', `/profile/${mvUid}`, { name: { displayName: 'Name' }, language: 'nl' }],
    ['POST', '/med/aql', { q: 'SELECT e/ehr_id/value FROM EHR e' }],
    ['POST', '/auth/login/password', account],
    ['GET', `/1/classes/CarePlan/${plan}`],
    ['GET', '/1/classes/CarePlan'],
    ['GET', '/1/users/me'],
    ['PUT', `/1/classes/CarePlan/${plan}`, { name: 'Other' }],
    ['POST', '/1/classes/CarePlan', { ehrId, name: 'D' }],
    [
      'POST',
      '/1/batch',
      { requests: [{ method: 'POST', path: '/1/classes/CarePlan', body: { ehrId, name: 'E' } }] },
    ],
    ['POST', '/1/login', { username: account.email, password: account.password }],
  ]

  /** Sends all calls, freezes the database after a while, and awaits the answers. */
  const answersAcrossFreeze = async (delayMs: number) => {
    const pendingAnswers = calls().map(async ([method, path, body]) => {
      const response = await send(method, path, body)
      const text = await response.text()
      return { what: `${method} ${path}: ${response.status} ${text}`, response, text, at: performance.now() }
    })
    await sleep(delayMs)
    process.kill(engine, 'SIGSTOP')
    const frozenAt = performance.now()
    try {
      return (await Promise.all(pendingAnswers)).map(({ at, ...answer }) => ({
        ...answer,
        ms: at - frozenAt,
      }))
    } finally {
      process.kill(engine, 'SIGCONT')
    }
  }

  for (const delayMs of [0, 5, 20, 60])
    it(`is answered within 5 s with 503 and Retry-After, ${delayMs} ms after the requests began`, async () => {
      const answers = await answersAcrossFreeze(delayMs)
      const refusals = answers.filter(({ response }) => !response.ok)
      assert.ok(refusals.length > 0)
      for (const { what, response, text, ms } of answers) {
        assert.ok(ms < PROMISED_MS + MACHINE_MS, `${Math.round(ms)} ms: ${what}`)
        if (response.ok) continue
        assert.equal(response.status, 503, what)
        assert.ok(Number(response.headers.get('retry-after')) > 0, what)
        assert.doesNotMatch(text, /127\.0\.0\.1|Mongo|Pool/, what)
      }
      await waitFor(async () => (await send('GET', '/health/ready')).ok || undefined, 'to be ready')
      for (const [method, path] of calls().filter(([method]) => method === 'GET')) await read(method, path)
    })
})
