import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import {
  clientOf,
  holders,
  newDataDir,
  type ServiceProcess,
  startServing,
  stopProcess,
} from '../../harness/service/process.ts'
import { isFullSize } from '../../harness/size.ts'
import { until } from '../../harness/until.ts'

describe('a service that ends', () => {
  let service: ServiceProcess
  after(() => stopProcess(service))

  it('by kill -9 keeps the data, and leaves no engine behind', async () => {
    const DATA_DIR = newDataDir()
    const outbox = join(DATA_DIR, 'outbox')
    service = await startServing({ DATA_DIR })
    const account = { username: 'ann@example.org', email: 'ann@example.org', password: 'a long password' }
    assert.equal((await clientOf(service)('/1/users', account)).status, 201)
    const mailed = () => (existsSync(outbox) ? readdirSync(outbox).map((mail) => join(outbox, mail)) : [])
    const token = () =>
      mailed()
        .map((mail) => readFileSync(mail, 'utf8').replace(/=\r?\n/g, ''))
        .map((text) => /token=3D(\w+)\b[\s\S]*<\/html>/.exec(text)?.[1])[0]
    await until(() => token() !== undefined)
    service.child.kill('SIGKILL')
    await service.ended
    await until(async () => (await holders(DATA_DIR)) === '')
    service = await startServing({ DATA_DIR })
    const body = { token: token(), termsAccepted: true }
    const activation = await clientOf(service)('/auth/account/register/activate', body)
    assert.equal(activation.status, 200)
  })

  if (isFullSize)
    it('at SIGTERM waits at most 10 s for a request that never ends', async () => {
      const { hostname, port } = new URL(service.url)
      const headers = { 'Content-Length': 100 }
      const endless = request({ hostname, port, path: '/1/login', method: 'POST', headers })
      endless.on('error', () => {})
      await new Promise((resolve) => endless.write('{', resolve))
      assert.equal((await fetch(`${service.url}/health/live`)).status, 200)
      const begun = performance.now()
      service.child.kill('SIGTERM')
      assert.equal(await service.ended, 0)
      assert.ok(performance.now() - begun < 13_000)
    })
})
