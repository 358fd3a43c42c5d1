import assert from 'node:assert/strict'
import { createPerson, type Person } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { apiKeys } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'

/** Endless requests to either family. The limits are the same; parts of a batch count like requests. */
describe('attack: a flood of requests', function suite() {
  this.timeout(60_000)
  let user: Person
  let other: Person
  let service: ServiceProcess
  let addresses = 0

  /** Each call comes from another address. */
  const call = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(service.url + path, {
      headers: {
        'X-Forwarded-For': `198.51.100.${++addresses}`,
        ...headers,
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const statuses = async (times: number, ask: () => Promise<Response>): Promise<number[]> => {
    const answers: Response[] = []
    for (let i = 0; i < times; i++) answers.push(await ask())
    return answers.map(({ status }) => status)
  }

  before(async () => {
    const env = { TRUST_PROXY: 'loopback', ACCOUNT_RATE: '10', ADDRESS_RATE: '10' }
    ;[service, user, other] = await Promise.all([startSecondInstance(env), createPerson(), createPerson()])
  })
  after(() => stopProcess(service))

  it('is refused for one account, in single requests and in batches', async () => {
    const acceptedStatuses = await statuses(8, () => call('/1/classes/Ehr', user.headers))
    assert.deepEqual(acceptedStatuses, Array(8).fill(200))
    const requests = Array.from({ length: 3 }, () => ({ method: 'GET', path: '/1/classes/Ehr' }))
    const refusal = await call('/1/batch', user.headers, { requests })
    assert.equal(refusal.status, 429)
    assert.equal(((await refusal.json()) as { code: number }).code, 155)
    assert.ok(Number(refusal.headers.get('retry-after')) > 0)
    assert.equal((await call('/1/users/me', user.headers)).status, 429)
  })

  it('is refused for one address, with and without keys, by route, function and batch', async () => {
    const address = { 'X-Forwarded-For': '203.0.113.77' }
    const headers = { ...other.headers, ...address }
    assert.deepEqual(await statuses(3, () => call('/1/classes/Ehr', address)), Array(3).fill(403))
    const requests = Array.from({ length: 4 }, () => ({ method: 'GET', path: '/1/classes/Ehr' }))
    assert.equal((await call('/1/batch', headers, { requests })).status, 200)
    const bmi = { weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' }
    assert.deepEqual(await statuses(5, () => call('/functions/bmi', headers, bmi)), [200, 200, 200, 429, 429])
    const refusal = await call('/1/classes/Ehr', { ...apiKeys(), ...address })
    assert.deepEqual(
      [refusal.status, refusal.headers.get('content-type')],
      [429, 'application/json; charset=utf-8'],
    )
    assert.equal(((await refusal.json()) as { code: number }).code, 155)
    assert.equal((await call('/openapi.json', address)).status, 429)
    // Load balancers must still learn the state of the service.
    for (const path of ['/health/live', '/health/ready', '/1/health', '/metrics'])
      assert.equal((await call(path, headers)).status, 200, path)
  })
})
