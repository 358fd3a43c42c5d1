import assert from 'node:assert/strict'
import { newPerson, type Person } from '../harness/people/people.ts'
import { startNeighbour } from '../harness/service/neighbour.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/process.ts'
import { keys } from '../harness/service/service.ts'

/** Requests without end, to either family. The limits are the same; parts of a batch count like requests. */
describe('attack: a flood of requests', function suite() {
  this.timeout(60_000)
  let user: Person
  let service: ServiceProcess

  const call = (path: string, headers: Record<string, string>, body?: object) =>
    fetch(service.url + path, {
      headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const statuses = async (times: number, ask: () => Promise<Response>): Promise<number[]> => {
    const answers: Response[] = []
    for (let i = 0; i < times; i++) answers.push(await ask())
    return answers.map(({ status }) => status)
  }

  const start = async (env: NodeJS.ProcessEnv) => {
    service = await startNeighbour(env)
  }
  before(async () => {
    user = await newPerson()
  })
  afterEach(() => stopProcess(service))

  it('by one account is refused, in single requests and in batches', async () => {
    await start({ ACCOUNT_RATE: '10' })
    const asked = await statuses(8, () => call('/1/classes/Ehr', user.headers))
    assert.deepEqual(asked, Array(8).fill(200))
    const requests = Array.from({ length: 3 }, () => ({ method: 'GET', path: '/1/classes/Ehr' }))
    const refused = await call('/1/batch', user.headers, { requests })
    assert.equal(refused.status, 429)
    assert.equal(((await refused.json()) as { code: number }).code, 155)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal((await call('/1/users/me', user.headers)).status, 429)
  })

  it('from one address is refused, with and without keys, by route, function and batch', async () => {
    await start({ ADDRESS_RATE: '10' })
    assert.deepEqual(await statuses(3, () => call('/1/classes/Ehr', {})), Array(3).fill(403))
    const requests = Array.from({ length: 4 }, () => ({ method: 'GET', path: '/1/classes/Ehr' }))
    assert.equal((await call('/1/batch', user.headers, { requests })).status, 200)
    const bmi = { weight: 70, weightUnit: 'kg', height: 175, heightUnit: 'cm' }
    assert.deepEqual(
      await statuses(5, () => call('/functions/bmi', user.headers, bmi)),
      [200, 200, 200, 429, 429],
    )
    const refused = await call('/1/classes/Ehr', keys())
    assert.deepEqual(
      [refused.status, refused.headers.get('content-type')],
      [429, 'application/json; charset=utf-8'],
    )
    assert.equal(((await refused.json()) as { code: number }).code, 155)
    assert.equal((await call('/health/live', {})).status, 429)
  })
})
