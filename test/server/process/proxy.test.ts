import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSecondInstance } from '../../harness/service/second-instance.ts'
import { type ServiceProcess, stopProcess } from '../../harness/service/service-process.ts'

describe('a service behind a proxy', function suite() {
  this.timeout(60_000)
  let service: ServiceProcess
  let keys: Record<string, string>

  before(async () => {
    service = await startSecondInstance({
      TRUST_PROXY: 'loopback',
      LOGIN_ATTEMPTS: '2',
      PUBLIC_URL: 'https://health.example.org',
      CORS_ORIGINS: 'https://app.example.org',
    })
    keys = JSON.parse(readFileSync(join(service.dataDir, 'keys.json'), 'utf8'))
  })
  after(() => stopProcess(service))

  const send = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${service.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        'X-Parse-Application-Id': keys.applicationId ?? '',
        'X-Parse-REST-API-Key': keys.restApiKey ?? '',
        'Content-Type': 'application/json',
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })

  it('counts logins by the address that the proxy forwards', async () => {
    const login = async (address: string) =>
      (await send('/1/login', { 'X-Forwarded-For': address }, { username: 'nobody', password: 'wrong' }))
        .status
    assert.deepEqual([await login('203.0.113.1'), await login('203.0.113.1')], [404, 404])
    assert.equal(await login('203.0.113.1'), 429)
    assert.equal(await login('203.0.113.2'), 404)
  })

  it('accepts the master key from this machine only', async () => {
    const masterKey = { 'X-Parse-Master-Key': keys.masterKey ?? '' }
    assert.equal((await send('/1/classes/Ehr', masterKey)).status, 200)
    const elsewhere = await send('/1/classes/Ehr', { ...masterKey, 'X-Forwarded-For': '203.0.113.1' })
    assert.equal(elsewhere.status, 403)
    const { code, error } = (await elsewhere.json()) as { code: number; error: string }
    assert.equal(code, 119)
    assert.match(error, /^unauthorized/)
  })

  it('accepts requests from pages of its own origin and of CORS_ORIGINS only', async () => {
    const allowed = async (origin: string) =>
      (await send('/1/classes/Ehr', { Origin: origin })).headers.get('access-control-allow-origin')
    assert.equal(await allowed('https://app.example.org'), 'https://app.example.org')
    assert.equal(await allowed('https://health.example.org'), 'https://health.example.org')
    assert.equal(await allowed('https://evil.example.org'), 'https://health.example.org')
  })

  it('tells browsers to stay on https', async () => {
    const { headers } = await send('/health/live', {})
    assert.match(headers.get('content-security-policy') ?? '', /upgrade-insecure-requests/)
    assert.match(headers.get('strict-transport-security') ?? '', /max-age=/)
  })
})
