import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../harness/service/port.ts'
import { newDataDir, type ServiceProcess, startProcess, stopProcess } from '../harness/service/process.ts'

const shell = promisify(execFile)

/** Whether something still has files of a data directory open: an engine left behind. */
async function holders(dataDir: string): Promise<string> {
  const { stdout } = await shell('sh', [
    '-c',
    'ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "$0" || true',
    dataDir,
  ])
  return stdout
}

async function until(what: () => Promise<boolean> | boolean, ms = 5_000): Promise<void> {
  const end = Date.now() + ms
  while (!(await what())) {
    assert.ok(Date.now() < end, 'it did not happen in time')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe('the service as a process', function suite() {
  this.timeout(60_000)
  const running: ServiceProcess[] = []
  const start = async (...args: Parameters<typeof startProcess>) => {
    const service = await startProcess(...args)
    running.push(service)
    return service
  }
  afterEach(async () => {
    await Promise.all(running.splice(0).map(stopProcess))
  })

  it('says where everything is when it starts, and its curl line works when pasted', async () => {
    const service = await start()
    await service.ready
    const output = service.output()
    assert.ok(output.includes(`${service.url}/1`))
    assert.ok(output.includes(`${service.url}/docs`))
    assert.ok(output.includes(join(service.dataDir, 'database')))
    const curl = output.slice(output.indexOf('curl ')).trim()
    const { stdout } = await shell('sh', ['-c', `${curl} --silent --show-error`])
    assert.match(JSON.parse(stdout).objectId, /^\w{10}$/)
    await until(() => service.output().includes('mail written to the outbox'))
    assert.equal(statSync(join(service.dataDir, 'keys.json')).mode & 0o777, 0o600)
  })

  it('starts without a warning, a deprecation or a logs folder', async () => {
    const service = await start({ LOG_LEVEL: 'trace' })
    await service.ready
    assert.doesNotMatch(service.output(), /deprecat|warning|invalid key/i)
    assert.equal(existsSync('logs'), false)
  })

  it('logs nothing that a client sent', async () => {
    const service = await start({ LOG_LEVEL: 'trace' })
    await service.ready
    const { applicationId, restApiKey } = JSON.parse(readFileSync(join(service.dataDir, 'keys.json'), 'utf8'))
    const headers = { 'X-Parse-Application-Id': applicationId, 'X-Parse-REST-API-Key': restApiKey }
    const marker = 'zebra4711'
    const send = (path: string, body: string) =>
      fetch(`${service.url}${path}`, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json', 'X-Parse-Session-Token': marker },
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
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.doesNotMatch(service.output(), new RegExp(marker))
  })

  it('names every fault of its configuration and exits with 1', async () => {
    const service = await start({ PORT: 'x', LOG_LEVEL: 'loud', SMTP_URL: 'nowhere', MASTER_KEY: 'x' })
    assert.equal(await service.ended, 1)
    for (const name of ['PORT', 'LOG_LEVEL', 'SMTP_URL', 'MASTER_KEY'])
      assert.ok(service.output().includes(name), name)
  })

  it('tells what can be configured', async () => {
    const help = await start({}, '--help')
    assert.equal(await help.ended, 0)
    for (const name of ['PORT', 'DATA_DIR', 'MONGODB_URI', 'SMTP_URL', 'TRUST_PROXY'])
      assert.ok(help.output().includes(name), name)
  })

  it('has commands that say how they are used', async () => {
    const commands = ['admin', 'audit', 'openapi'].map((name) => `server/commands/${name}`)
    const files = [...commands, 'bench/main', 'bench/embedded-mongo'].map((name) => `dist/${name}.js`)
    for (const command of [...files, 'packages/embedded-mongo/bin/embedded-mongo.js']) {
      const { stdout, stderr } = await shell(process.execPath, [command, '--help'])
      assert.match(stdout, /Usage: |npm run /, command)
      assert.ok(stdout.length < 2_000 && stderr === '', command)
    }
  })

  /** A client of a running service, with its keys. */
  function clientOf({ url, dataDir }: ServiceProcess) {
    const { applicationId, restApiKey } = JSON.parse(readFileSync(join(dataDir, 'keys.json'), 'utf8'))
    return async (path: string, body: object) => {
      const answer = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          'X-Parse-Application-Id': applicationId,
          'X-Parse-REST-API-Key': restApiKey,
          'Content-Type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      return {
        status: answer.status,
        headers: answer.headers,
        body: (await answer.json()) as { code?: number },
      }
    }
  }

  it('limits the logins of an address, in a batch and in the function too', async () => {
    const service = await start({ LOGIN_ATTEMPTS: '5' })
    await service.ready
    const send = clientOf(service)
    const account = { username: 'nobody', password: 'wrong' }
    for (let i = 0; i < 5; i++) assert.equal((await send('/1/login', account)).status, 404)
    const limited = await send('/Login', account)
    assert.equal(limited.status, 429)
    assert.equal(limited.body.code, 155)
    assert.ok(Number(limited.headers.get('retry-after')) > 0)
    const batched = await send('/1/batch', {
      requests: [{ method: 'POST', path: '/1/login', body: account }],
    })
    assert.equal(batched.status, 429)
    for (let i = 0; i < 5; i++) assert.equal((await send('/functions/Login', account)).status, 404)
    assert.equal((await send('/functions/Login', account)).status, 429)
  })

  it('signs up while the mail server is down; the mail waits and shows in the figures', async () => {
    const service = await start({ SMTP_URL: `smtp://127.0.0.1:${await freePort()}` })
    await service.ready
    const email = 'ann@example.org'
    const begun = performance.now()
    const signUp = await clientOf(service)('/1/users', {
      username: email,
      email,
      password: 'a long password',
    })
    assert.equal(signUp.status, 201)
    assert.ok(performance.now() - begun < 2_000)
    await until(async () => {
      const figures = await (await fetch(`${service.url}/metrics`)).text()
      return /mails_total\{outcome="failed"\} [1-9]/.test(figures) && /mails_waiting 1/.test(figures)
    })
  })

  it('refuses a data directory that another instance has open', async () => {
    const first = await start()
    await first.ready
    const second = await start({ DATA_DIR: first.dataDir })
    assert.equal(await second.ended, 1)
    assert.match(second.output(), /did not start: .*(in use|another|already)/i)
    assert.equal((await fetch(`${first.url}/health/ready`)).status, 200)
  })

  it('says so when its port is taken', async () => {
    const first = await start()
    await first.ready
    const second = await start({ PORT: new URL(first.url).port })
    assert.equal(await second.ended, 1)
    assert.match(second.output(), /EADDRINUSE/)
    assert.equal(await holders(second.dataDir), '')
  })

  it('keeps the data over kill -9, and leaves no engine behind', async () => {
    const dataDir = newDataDir()
    const first = await start({ DATA_DIR: dataDir })
    await first.ready
    const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }
    assert.equal((await clientOf(first)('/1/users', account)).status, 201)
    first.child.kill('SIGKILL')
    await first.ended
    await until(async () => (await holders(dataDir)) === '')
    const second = await start({ DATA_DIR: dataDir })
    await second.ready
    const again = await clientOf(second)('/1/users', account)
    assert.equal(again.status, 400)
    assert.ok([202, 203].includes(again.body.code ?? 0))
  })

  it('at SIGTERM finishes what runs, takes nothing new, and exits with 0', async () => {
    const service = await start()
    await service.ready
    const { hostname, port } = new URL(service.url)
    const body = '{"username":"x"}'
    const answer = new Promise<number>((resolve, reject) => {
      const slow = httpRequest({
        hostname,
        port,
        path: '/1/login',
        method: 'POST',
        headers: { 'Content-Length': body.length },
      })
      slow.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
      slow.write(body.slice(0, 5))
      setTimeout(() => service.child.kill('SIGTERM'), 200)
      setTimeout(() => slow.end(body.slice(5)), 1_000)
    })
    await new Promise((resolve) => setTimeout(resolve, 600))
    await assert.rejects(fetch(`${service.url}/health/live`))
    assert.equal(await answer, 403)
    assert.equal(await service.ended, 0)
    assert.equal(await holders(service.dataDir), '')
  })

  it('waits at most 10 s for a request that never ends', async () => {
    const service = await start()
    await service.ready
    const { hostname, port } = new URL(service.url)
    const endless = httpRequest({
      hostname,
      port,
      path: '/1/login',
      method: 'POST',
      headers: { 'Content-Length': 100 },
    })
    endless.on('error', () => {})
    endless.write('{')
    await new Promise((resolve) => setTimeout(resolve, 200))
    const begun = performance.now()
    service.child.kill('SIGTERM')
    assert.equal(await service.ended, 0)
    assert.ok(performance.now() - begun < 13_000)
  })

  it('stops with a clear message when its embedded database ends', async () => {
    const service = await start()
    await service.ready
    const { stdout } = await shell('sh', ['-c', `cat /proc/${service.child.pid}/task/*/children`])
    const [engine] = stdout.trim().split(/\s+/)
    assert.ok(engine, 'the engine is a process of its own')
    process.kill(Number(engine), 'SIGKILL')
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /embedded database has ended/)
  })
})
