import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { tokenInLink, waitForMailIn } from '../../harness/mail/outbox.ts'
import { freePort } from '../../harness/service/port.ts'
import { findStartRefusal } from '../../harness/service/service.ts'
import {
  createDataDir,
  createProcessClient,
  findOpenFiles,
  type ServiceProcess,
  startProcess,
  startServiceProcess,
  stopProcess,
} from '../../harness/service/service-process.ts'
import { isFullSize } from '../../harness/test-size.ts'
import { waitUntil } from '../../harness/wait.ts'

describe('a service in its data directory and on its port', function suite() {
  this.timeout(60_000)
  const DATA_DIR = createDataDir()
  let service: ServiceProcess
  const start = async () => {
    service = await startServiceProcess({ DATA_DIR, LOGIN_ATTEMPTS: '5' })
  }
  before(start)
  after(() => stopProcess(service))

  /** Begins a login whose body is still to be sent. The service has read its headers, since it asks for the body. */
  async function beginLogin(length: number): Promise<ClientRequest> {
    const { hostname, port } = new URL(service.url)
    const headers = { 'Content-Length': length, Expect: '100-continue' }
    const login = request({ hostname, port, path: '/1/login', method: 'POST', headers })
    login.flushHeaders()
    await once(login, 'continue')
    return login
  }

  /** Signals like systemd and terminals: the engine, in the same process group, gets the signal first. */
  function signalGroup(): void {
    const { pid = 0 } = service.child
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    assert.ok(children.length > 0)
    for (const one of [...children.map(Number), pid]) process.kill(one, 'SIGTERM')
  }

  it('limits the logins of an address, on the route and in the function together', async () => {
    const send = createProcessClient(service)
    const account = { username: 'nobody', password: 'wrong' }
    for (let i = 0; i < 5; i++) assert.equal((await send('/1/login', account)).status, 404)
    const limited = await send('/Login', account)
    assert.equal(limited.status, 429)
    assert.equal(limited.body.code, 155)
    assert.ok(Number(limited.headers.get('retry-after')) > 0)
    assert.equal((await send('/functions/Login', account)).status, 429)
  })

  it('ends when npm passes a signal on to the shell of its script', async () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const script = scripts.start.replace('npm run compile --silent', 'true')
    const env = { PATH: process.env.PATH, DATA_DIR: createDataDir(), PORT: String(await freePort()) }
    const shell = spawn('sh', ['-c', script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(shell.stdout, 'data')
    shell.kill('SIGTERM')
    assert.deepEqual(await once(shell, 'exit'), [0, null])
    assert.equal(existsSync(join(env.DATA_DIR, 'service.json')), false)
  })

  it('locks its data directory: another instance is refused', async () => {
    assert.match(await findStartRefusal({ DATA_DIR }), /in use|another|already/i)
    assert.equal((await fetch(`${service.url}/health/ready`)).status, 200)
  })

  if (isFullSize)
    it('keeps its port: another instance reports that it is in use, and leaves no engine behind', async () => {
      const PORT = new URL(service.url).port
      const second = await startProcess({ PORT })
      assert.equal(await second.ended, 1)
      const message = `did not start: PORT ${PORT} is in use by another program. Stop it, or`
      assert.ok(second.output().includes(message), second.output())
      assert.equal(await findOpenFiles(second.dataDir), '')
    })

  it('keeps the data after kill -9, and leaves no engine behind', async () => {
    const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }
    assert.equal((await createProcessClient(service)('/1/users', account)).status, 201)
    const mail = await waitForMailIn(DATA_DIR, account.email)
    service.child.kill('SIGKILL')
    await service.ended
    await waitUntil(async () => (await findOpenFiles(DATA_DIR)) === '')
    await start()
    const body = { token: tokenInLink(mail), termsAccepted: true }
    const activation = await createProcessClient(service)('/auth/account/register/activate', body)
    assert.equal(activation.status, 200)
  })

  it('finishes running requests at SIGTERM, accepts no new ones, and exits with 0', async () => {
    const body = '{"username":"x"}'
    const slow = await beginLogin(body.length)
    const answer = new Promise<number>((resolve, reject) => {
      slow.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
    })
    await new Promise((resolve) => slow.write(body.slice(0, 5), resolve))
    signalGroup()
    await waitUntil(() =>
      fetch(`${service.url}/health/live`).then(
        () => false,
        () => true,
      ),
    )
    slow.end(body.slice(5))
    assert.equal(await answer, 403)
    assert.equal(await service.ended, 0)
    assert.doesNotMatch(service.output(), /"level":"(error|fatal)"|has stopped/)
    assert.equal(await findOpenFiles(DATA_DIR), '')
  })

  if (isFullSize)
    it('waits at SIGTERM at most 10 s for a request that never ends', async () => {
      await start()
      const endless = (await beginLogin(100)).on('error', () => {})
      await new Promise((resolve) => endless.write('{', resolve))
      const startTime = performance.now()
      service.child.kill('SIGTERM')
      assert.equal(await service.ended, 0)
      assert.ok(performance.now() - startTime < 13_000)
    })
})
