import assert from 'node:assert/strict'
import { request } from 'node:http'
import {
  clientOf,
  holders,
  type ServiceProcess,
  startProcess,
  startServing,
  stopProcess,
} from '../../harness/service/process.ts'
import { until } from '../../harness/until.ts'

describe('a service that has its place', () => {
  let service: ServiceProcess
  before(async () => {
    service = await startServing({ LOGIN_ATTEMPTS: '5' })
  })
  after(() => stopProcess(service))

  it('limits the logins of an address, on the route and in the function together', async () => {
    const send = clientOf(service)
    const account = { username: 'nobody', password: 'wrong' }
    for (let i = 0; i < 5; i++) assert.equal((await send('/1/login', account)).status, 404)
    const limited = await send('/Login', account)
    assert.equal(limited.status, 429)
    assert.equal(limited.body.code, 155)
    assert.ok(Number(limited.headers.get('retry-after')) > 0)
    assert.equal((await send('/functions/Login', account)).status, 429)
  })

  it('keeps its data directory: another instance is refused', async () => {
    const second = await startProcess({ DATA_DIR: service.dataDir })
    assert.equal(await second.ended, 1)
    assert.match(second.output(), /did not start: .*(in use|another|already)/i)
    assert.equal((await fetch(`${service.url}/health/ready`)).status, 200)
  })

  it('keeps its port: another one says that it is taken, and leaves no engine behind', async () => {
    const PORT = new URL(service.url).port
    const second = await startProcess({ PORT })
    assert.equal(await second.ended, 1)
    const told = `did not start: PORT ${PORT} is in use by another program: stop it, or`
    assert.ok(second.output().includes(told), second.output())
    assert.equal(await holders(second.dataDir), '')
  })

  it('at SIGTERM finishes what runs, stops accepting requests, and exits with 0', async () => {
    const { hostname, port } = new URL(service.url)
    const body = '{"username":"x"}'
    const headers = { 'Content-Length': body.length }
    const slow = request({ hostname, port, path: '/1/login', method: 'POST', headers })
    const answer = new Promise<number>((resolve, reject) => {
      slow.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject)
    })
    await new Promise((resolve) => slow.write(body.slice(0, 5), resolve))
    // The service has read it when it has answered what came later.
    assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
    service.child.kill('SIGTERM')
    await until(() =>
      fetch(`${service.url}/health/live`).then(
        () => false,
        () => true,
      ),
    )
    slow.end(body.slice(5))
    assert.equal(await answer, 403)
    assert.equal(await service.ended, 0)
    assert.equal(await holders(service.dataDir), '')
  })
})
