import assert from 'node:assert/strict'
import { createPatient, createPlan, type Patient } from '../harness/care/patients.ts'
import { startFaultyMongoForBlock } from '../harness/faulty-mongo/faulty-mongo.ts'
import { createAddress, password } from '../harness/people/people.ts'
import { startSecondInstance } from '../harness/service/second-instance.ts'
import { service } from '../harness/service/service.ts'
import { type ServiceProcess, stopProcess } from '../harness/service/service-process.ts'
import { waitFor, waitUntil } from '../harness/wait.ts'

/** The driver's log is printed if the service does not recover. */
const DRIVER_LOG_ENV = {
  MONGODB_LOG_PATH: 'stderr',
  MONGODB_LOG_TOPOLOGY: 'debug',
  MONGODB_LOG_CONNECTION: 'debug',
  MONGODB_LOG_MAX_DOCUMENT_LENGTH: '300',
}

describe('an unreachable database', function suite() {
  this.timeout(60_000)
  const faulty = startFaultyMongoForBlock()
  let instance: ServiceProcess
  let patient: Patient
  let plan: string

  before(async () => {
    // This address sets another timeout; failed-start.test.ts checks the default of 5 s.
    const MONGODB_URI = `${faulty.uri}/${service.db.databaseName}?serverSelectionTimeoutMS=1000`
    ;[instance, patient] = await Promise.all([
      startSecondInstance({ MONGODB_URI, ...DRIVER_LOG_ENV }),
      createPatient(),
    ])
    plan = await createPlan(patient)
  })
  after(() => stopProcess(instance))

  const send = async (
    method: string,
    path: string,
    body?: object,
    { url = instance.url, headers = {} }: { url?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> =>
    fetch(url + path, {
      method,
      headers: {
        ...headers,
        ...(path.startsWith('/1') ? patient.headers : { authorization: `Bearer ${patient.authToken}` }),
        'content-type': 'application/json',
      },
      ...(body && { body: JSON.stringify(body) }),
    })

  const isReady = async () => {
    let last = ''
    await waitFor(
      async () => {
        const answer = await send('GET', '/health/ready')
        last = `${answer.status} ${await answer.text()}`
        return answer.ok || undefined
      },
      () => `${instance.output().slice(-20_000)}\n${last}: to be ready`,
    )
  }

  const bloodPressure = {
    timestamp: { __type: 'Date', iso: '2026-11-20T08:00:00.000Z' },
    systolic: 120,
    systolicUnit: 'mm[Hg]',
    diastolic: 80,
    diastolicUnit: 'mm[Hg]',
  }
  const batch = () => [
    { method: 'POST', path: '/1/classes/CarePlan', body: { ehrId: patient.ehrId, name: 'Refused' } },
    { method: 'PUT', path: `/1/classes/CarePlan/${plan}`, body: { name: 'Refused' } },
  ]
  const requests = (): [method: string, path: string, body?: object][] => [
    ['GET', `/ehr/${patient.ehrId}/careplan/${plan}`],
    ['GET', `/ehr/${patient.ehrId}/careplan`],
    ['POST', `/ehr/${patient.ehrId}/careplan`, { name: 'Refused' }],
    ['POST', `/ehr/${patient.ehrId}/careplan`, { name: 'Refused, too' }],
    ['POST', `/ehr/${patient.ehrId}/careplan/${plan}/goal`, { name: 'Refused' }],
    ['PUT', `/profile/${patient.mvUid}`, { name: { displayName: 'Refused' }, language: 'nl' }],
    ['POST', '/auth/login/password', { email: patient.email, password: patient.password }],
    ['GET', `/1/classes/CarePlan/${plan}`],
    ['GET', '/1/classes/CarePlan'],
    ['POST', '/1/classes/BloodPressure', { carePlanId: plan, ...bloodPressure }],
    ['PUT', `/1/classes/CarePlan/${plan}`, { name: 'Refused' }],
    ['DELETE', `/1/classes/CarePlan/${plan}`],
    ['POST', '/1/batch', { requests: batch() }],
    ['POST', '/1/login', { username: patient.email, password: patient.password }],
  ]

  const isRead = async () => {
    for (const [method, path] of requests().filter(([method]) => method === 'GET'))
      assert.equal((await send(method, path)).status, 200, path)
  }

  const refuses = async (calls: ReturnType<typeof requests>) => {
    const answers = await Promise.all(calls.map((request) => send(...request)))
    for (const [i, answer] of answers.entries()) {
      const description = `${calls[i]?.slice(0, 2)}: ${await answer.text()}`
      assert.equal(answer.status, 503, description)
      assert.ok(Number(answer.headers.get('retry-after')) > 0, description)
      assert.doesNotMatch(description, /ECONN|127\.0\.0\.1|Mongo|disk/)
    }
  }

  const nothingWasDone = async () => {
    const plans = service.db.collection('CarePlan')
    const planCount = await plans.countDocuments({ ehrId: patient.ehrId, name: /^Refused/ })
    const pressures = await service.db.collection('BloodPressure').countDocuments({ carePlanId: plan })
    assert.deepEqual([planCount, pressures], [0, 0])
  }

  it('is reported by metrics, without numbers that nobody could read', async () => {
    const ofDatabase = /^(database_up|audit_entries|mails_waiting|mails_oldest_seconds) (.*)$/gm
    const readMetrics = async () => [...(await (await send('GET', '/metrics')).text()).matchAll(ofDatabase)]
    const before = await readMetrics()
    assert.equal(before.length, 4)
    assert.equal(before.find(([, name]) => name === 'database_up')?.[2], '1')
    await faulty.stopListening()
    const gone = (await readMetrics()).map(([line]) => line)
    await faulty.resumeListening()
    assert.deepEqual(gone, ['database_up 0'])
    await isReady()
  })

  it('is answered with 503 and Retry-After; a refused write is never carried out', async () => {
    await isRead()
    await faulty.stopListening()
    await refuses(requests())
    await faulty.resumeListening()
    await isReady()
    await isRead()
    await nothingWasDone()
  })

  it('is reported in the same way when it goes away in the middle of a request', async () => {
    // The driver goes on with other commands. The audit, which reads the EHR only, finds the database again.
    const away = { ok: 0, code: 6, codeName: 'HostUnreachable', errmsg: 'the shard is away' }
    faulty.findFault = (command) =>
      command.find === 'CarePlan' && !command.projection ? { answer: away } : undefined
    await refuses(requests().filter(([method, path]) => method !== 'GET' && path.includes(plan)))
    faulty.findFault = () => undefined
    const lines = instance.output().split('\n')
    assert.deepEqual(
      lines.filter((line) => line.includes('"level":"error"') && line.includes('Parse')),
      [],
    )
    assert.ok(lines.some((line) => line.includes('"level":"warn"') && line.includes('"code":6,')))
    await isReady()
    await nothingWasDone()
  })

  it('lets another instance carry out requests again that it has interrupted', async () => {
    const headers = { 'x-parse-request-id': 'interrupted', 'idempotency-key': 'interrupted' }
    const writes = ['insert', 'update', 'delete', 'bulkWrite', 'findAndModify', 'commitTransaction']
    const calls: ReturnType<typeof requests> = [
      ['POST', '/1/classes/CarePlan', { ehrId: patient.ehrId, name: 'Interrupted' }],
      ['POST', `/ehr/${patient.ehrId}/careplan`, { name: 'Interrupted' }],
    ]
    for (const [method, path, body] of calls) {
      let isClaimed = false
      faulty.findFault = (command) => {
        if (command.insert === '_Idempotency' || command.insert === 'idempotency_keys') isClaimed = true
        else if (isClaimed && writes.some((name) => name in command)) return { cut: 'before' }
        return undefined
      }
      assert.equal((await send(method, path, body, { headers })).status, 503)
      assert.ok(isClaimed, path)
      faulty.findFault = () => undefined
      await isReady()
    }
    for (const [method, path, body] of calls)
      await waitUntil(
        async () => (await send(method, path, body, { headers, url: service.url })).status === 201,
      )
    const name = 'Interrupted'
    assert.equal(await service.db.collection('CarePlan').countDocuments({ ehrId: patient.ehrId, name }), 2)
  })

  it('refuses all writes in the same way when its disk is full, and recovers when there is room', async () => {
    const writes = ['insert', 'update', 'delete', 'bulkWrite', 'findAndModify', 'commitTransaction']
    const full = { ok: 0, code: 14031, codeName: 'OutOfDiskSpace', errmsg: 'no space left on the disk' }
    faulty.findFault = (command) => (writes.some((name) => name in command) ? { answer: full } : undefined)
    await refuses(requests().filter(([method]) => method !== 'GET'))
    faulty.findFault = () => undefined
    await nothingWasDone()
    const plans = `/ehr/${patient.ehrId}/careplan`
    assert.equal((await send('POST', plans, { name: 'With room' })).status, 201)
  })

  it('gets a 503, not a 408, for a class-family request whose time ends after it was lost', async () => {
    let asked = 0
    // The audit's own look at the plan gets its answer.
    faulty.findFault = ({ find, filter }) =>
      find === 'CarePlan' && '_rperm' in filter && ++asked ? { silence: true } : undefined
    const pending = send('GET', `/1/classes/CarePlan/${plan}`)
    await waitUntil(async () => asked > 0)
    await faulty.stopListening()
    await faulty.resumeListening()
    const answer = await pending
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5'])
    faulty.findFault = () => undefined
    await isReady()
  })

  it('acknowledges no registration, sign-up or mail that it cannot carry out, not even the first', async () => {
    const writes = ['insert', 'update', 'delete', 'bulkWrite', 'findAndModify', 'commitTransaction']
    const full = { ok: 0, code: 14031, codeName: 'OutOfDiskSpace', errmsg: 'no space left on the disk' }
    faulty.findFault = (command) => (writes.some((name) => name in command) ? { answer: full } : undefined)
    const email = createAddress()
    const account = { email, password, termsAccepted: true }
    const calls: ReturnType<typeof requests> = [
      ['POST', '/auth/account/register/password', account],
      ['POST', '/1/users', { ...account, username: email }],
      ['POST', '/auth/account/register/resend', { email }],
      ['POST', '/auth/account/password/reset', { email }],
      ['POST', '/1/requestPasswordReset', { email }],
    ]
    for (const call of calls) await refuses([call])
    faulty.findFault = () => undefined
  })

  it('is reported in the same way when no majority confirms a write within 5 s', async () => {
    const timeouts = new Set<unknown>()
    const unconfirmed = {
      code: 64,
      codeName: 'WriteConcernTimeout',
      errmsg: 'waiting for replication timed out',
    }
    faulty.findFault = ({ writeConcern }) => {
      if (!writeConcern) return undefined
      timeouts.add(writeConcern.wtimeout)
      return { change: (answer) => ({ ...answer, writeConcernError: unconfirmed }) }
    }
    await refuses(requests().filter(([method, path]) => method === 'POST' && path !== '/1/batch'))
    faulty.findFault = () => undefined
    assert.deepEqual([...timeouts], [5000])
    await isReady()
  })
})
