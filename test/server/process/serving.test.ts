import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  apiKeysOf,
  createProcessClient,
  type ServiceProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { waitFor, waitUntil } from '../../harness/wait.ts'

const shell = promisify(execFile)

describe('the output of the service process', () => {
  let service: ServiceProcess
  before(async () => {
    service = await startServiceProcess({ LOG_LEVEL: 'trace' })
  })
  after(() => stopProcess(service))

  it('contains no warning or deprecation, and the process creates no logs folder', () => {
    assert.doesNotMatch(service.output(), /deprecat|warning|invalid key/i)
    assert.equal(existsSync('logs'), false)
  })

  it('says that nobody agrees to terms without TERMS_URL, and brings nothing up to date in a new database', () => {
    assert.match(service.output(), /^ {2}terms +none: nobody is asked to agree until TERMS_URL is set$/m)
    assert.doesNotMatch(service.output(), /Updating stored data/)
  })

  it('shows all addresses at the start, with a curl line that works', async () => {
    const output = service.output()
    assert.ok(output.includes(`${service.url}/1`))
    assert.ok(output.includes(`${service.url}/docs`))
    assert.ok(output.includes(join(service.dataDir, 'database')))
    const [curl] = /curl [\s\S]*?\}'/.exec(output) ?? []
    const { stdout } = await shell('sh', ['-c', `${curl} --silent --show-error`])
    assert.match(JSON.parse(stdout).objectId, /^\w{10}$/)
    await waitUntil(() => service.output().includes('mail was written to the outbox'))
    assert.equal(statSync(join(service.dataDir, 'keys.json')).mode & 0o777, 0o600)
  })

  it('contains nothing that a client sent', async () => {
    const marker = 'zebra4711'
    const headers = { ...apiKeysOf(service), 'X-Parse-Session-Token': marker, 'X-Request-Id': 'one-of-these' }
    const send = (path: string, body: string) =>
      fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body,
      })
    const account = JSON.stringify({ username: `${marker}@example.org`, password: `${marker} ${marker}` })
    await send('/1/users', account)
    await send('/1/users', account)
    await send('/1/login', account)
    await send(`/1/login?username=${marker}`, `{"password": "${marker}`)
    await send(`/1/classes/CarePlan?where=${marker}`, JSON.stringify({ name: marker }))
    await send('/functions/bmi', JSON.stringify({ weight: marker }))
    await fetch(`${service.url}/1/classes/CarePlan/${marker}?where={"a":"${marker}"}`, { headers })
    await waitUntil(() => service.output().split('"requestId":"one-of-these"').length > 7)
    assert.doesNotMatch(service.output(), new RegExp(marker))
  })

  it('asks nobody to agree to terms while TERMS_URL is not set', async () => {
    const email = 'ben@example.org'
    const password = 'correct horse battery staple'
    const post = createProcessClient(service)
    assert.equal((await post('/auth/account/register/password', { email, password })).status, 202)
    const link = await waitFor(() => {
      const logged = service.output().match(/[^"\s]+\/activation\?token=[^"\s]+/g) ?? []
      return logged.length > 1 ? logged.at(-1) : undefined
    }, 'the link of the second account')
    const page = await (await fetch(link)).text()
    assert.match(page, /<button>Confirm<\/button>/)
    assert.doesNotMatch(page, /checkbox|terms of service/i)
    const token = new URL(link).searchParams.get('token')
    assert.equal((await post('/auth/account/register/activate', { token, termsAccepted: true })).status, 200)
    const { authToken } = (await post('/auth/login/password', { email, password })).body as {
      authToken?: string
    }
    const accounts = await fetch(`${service.url}/auth/account`, {
      headers: { authorization: `Bearer ${authToken}` },
    })
    const { items } = (await accounts.json()) as { items: { termsVersion: string | null }[] }
    assert.equal(items[0]?.termsVersion, null)
    const terms = await (await fetch(`${service.url}/auth/terms`)).text()
    assert.match(terms, /The operator has not published terms yet\./)
  })

  it('has lines like the one in docs/operating.md', async () => {
    const [, example = ''] = /^```\n(\{"level".*)\n```/m.exec(readFileSync('docs/operating.md', 'utf8')) ?? []
    await fetch(`${service.url}/ehr/e5RtGb81Xz/careplan`)
    const line = await waitFor(
      () => /^.*"\/ehr\/\{ehrId\}\/careplan".*"answered"\}$/m.exec(service.output())?.[0],
    )
    const read: Record<string, unknown> = JSON.parse(line)
    assert.deepEqual(
      Object.keys(read).filter((name) => name !== 'reason'),
      Object.keys(JSON.parse(example)),
    )
    assert.equal(read.level, 'debug')
    assert.match(String(read.time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.match(String(read.ms), /^\d+(\.\d{1,3})?$/)
  })

  it('explains that the embedded database has ended', async () => {
    const { stdout } = await shell('sh', ['-c', `cat /proc/${service.child.pid}/task/*/children`])
    const [engine] = stdout.trim().split(/\s+/)
    assert.ok(engine, 'the engine is a process of its own')
    process.kill(Number(engine), 'SIGKILL')
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /embedded database has stopped/)
  })
})

describe('a service on an IPv6 address', () => {
  it('serves there, and prints addresses and a link for the first administrator that work', async () => {
    const service = await startServiceProcess({ HOST: '::1' })
    const [address = ''] = service.output().match(/http:\/\/\[::1\]:\d+(?=\/docs)/) ?? []
    const [link = ''] = service.output().match(/http:\S+\/auth\/administrator\S+/) ?? []
    const statuses = [(await fetch(`${address}/health/ready`)).status, (await fetch(link)).status]
    await stopProcess(service)
    assert.deepEqual(statuses, [200, 200])
  })
})
