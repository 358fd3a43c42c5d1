import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { keysOf, type ServiceProcess, startServing, stopProcess } from '../../harness/service/process.ts'
import { until } from '../../harness/until.ts'

const shell = promisify(execFile)

describe('the service as a process that says all that it does', () => {
  let service: ServiceProcess
  before(async () => {
    service = await startServing({ LOG_LEVEL: 'trace' })
  })
  after(() => stopProcess(service))

  it('starts without a warning, a deprecation or a logs folder', () => {
    assert.doesNotMatch(service.output(), /deprecat|warning|invalid key/i)
    assert.equal(existsSync('logs'), false)
  })

  it('says where everything is when it starts, and its curl line works when pasted', async () => {
    const output = service.output()
    assert.ok(output.includes(`${service.url}/1`))
    assert.ok(output.includes(`${service.url}/docs`))
    assert.ok(output.includes(join(service.dataDir, 'database')))
    const [curl] = /curl [\s\S]*?\}'/.exec(output) ?? []
    const { stdout } = await shell('sh', ['-c', `${curl} --silent --show-error`])
    assert.match(JSON.parse(stdout).objectId, /^\w{10}$/)
    await until(() => service.output().includes('mail written to the outbox'))
    assert.equal(statSync(join(service.dataDir, 'keys.json')).mode & 0o777, 0o600)
  })

  it('logs nothing that a client sent', async () => {
    const marker = 'zebra4711'
    const headers = { ...keysOf(service), 'X-Parse-Session-Token': marker, 'X-Request-Id': 'one-of-these' }
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
    await until(() => service.output().split('"requestId":"one-of-these"').length > 7)
    assert.doesNotMatch(service.output(), new RegExp(marker))
  })

  it('stops with a clear message when its embedded database ends', async () => {
    const { stdout } = await shell('sh', ['-c', `cat /proc/${service.child.pid}/task/*/children`])
    const [engine] = stdout.trim().split(/\s+/)
    assert.ok(engine, 'the engine is a process of its own')
    process.kill(Number(engine), 'SIGKILL')
    assert.equal(await service.ended, 1)
    assert.match(service.output(), /embedded database has stopped/)
  })
})
