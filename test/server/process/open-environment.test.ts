import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { byClass, type Json, newPlace, type Place } from '../../family-kinds.ts'
import { createExampleChange, exampleObject, parentIdsOf } from '../../harness/care/samples/examples.ts'
import { SAMPLED_KINDS } from '../../harness/care/samples/kinds-of-each-shape.ts'
import { config, findStartRefusal } from '../../harness/service/service.ts'
import { type ServiceProcess, startProcess, stopProcess } from '../../harness/service/service-process.ts'
import { waitFor } from '../../harness/wait.ts'

describe('the open test environment', function suite() {
  this.timeout(60_000)
  let open: ServiceProcess
  let keys: Record<string, string>

  before(async () => {
    open = await startProcess({}, '--open')
    await open.ready
    const { applicationId, restApiKey } = JSON.parse(readFileSync(join(open.dataDir, 'keys.json'), 'utf8'))
    keys = { 'X-Parse-Application-Id': applicationId, 'X-Parse-REST-API-Key': restApiKey }
  })
  after(() => stopProcess(open))

  /** The properties that both services give an object alike. */
  const comparable = (object: Json): Json => {
    const { objectId: _, createdAt: __, updatedAt: ___, ACL: ____, creatorId: _____, ...same } = object
    return Object.fromEntries(
      Object.entries(same).map(([name, value]) => [
        name,
        /^(ehr|carePlan|goal|subject)Id$/.test(name) ? 'id' : value,
      ]),
    )
  }

  /** An EHR with a plan and a goal. */
  async function newOpenPlace(): Promise<Place> {
    const ehrId = (await send('POST', '/1/classes/Ehr', { subjectId: 'somebody' })).body.objectId ?? ''
    const plan = (await send('POST', '/1/classes/CarePlan', { ehrId, name: 'x' })).body.objectId ?? ''
    const goal = { ehrId, carePlanId: plan, name: 'x' }
    return {
      ehrId,
      carePlanId: plan,
      goalId: (await send('POST', '/1/classes/Goal', goal)).body.objectId ?? '',
    }
  }

  const send = async (
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = keys,
  ) => {
    const answer = await fetch(`${open.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    // biome-ignore lint/suspicious/noExplicitAny: tests read any response
    const json = (await answer.json()) as Record<string, any>
    const [environment, etag] = ['x-environment', 'etag'].map((name) => answer.headers.get(name))
    return { status: answer.status, body: json, environment, etag }
  }

  const sessionOf = ({ sessionToken = '' }: Record<string, string>) => ({
    ...keys,
    'X-Parse-Session-Token': sessionToken,
  })

  it('reports at the start and in every response that it is open', async () => {
    assert.match(open.output(), /OPEN TEST ENVIRONMENT/)
    assert.equal((await send('GET', '/health/live')).environment, 'open-test')
    assert.equal((await send('GET', '/1/classes/Anything')).environment, 'open-test')
  })

  it('requires no session and validates nothing; classes are created on first use', async () => {
    const created = await send('POST', '/1/classes/BloodPressure', { systolic: 'very high' })
    assert.equal(created.status, 201)
    const { objectId } = created.body
    assert.equal((await send('GET', `/1/classes/BloodPressure/${objectId}`)).status, 200)
    assert.equal((await send('PUT', `/1/classes/BloodPressure/${objectId}`, { note: 1 })).status, 200)
    assert.equal((await send('POST', '/1/classes/AnythingElse', { any: { thing: [1] } })).status, 201)
    const answer = await send('GET', '/1/classes/AnythingElse?count=1&limit=0')
    assert.deepEqual(answer.body, { results: [], count: 1 })
    assert.equal((await send('DELETE', `/1/classes/BloodPressure/${objectId}`)).status, 200)
  })

  for (const name of SAMPLED_KINDS)
    it(`fills in, derives and answers like the main service: ${name}`, async () => {
      const [{ patient, place }, openPlace] = await Promise.all([newPlace(), newOpenPlace()])
      const { post, put, get } = byClass(patient)
      const object = { ...exampleObject(name), ...(name === 'Ehr' && { subjectId: patient.mvUid }) }
      const created = (await post(name, { ...parentIdsOf(name, place), ...object }).expect(201)).body
      const openObject = { ...object, ...parentIdsOf(name, openPlace) }
      // It follows from the care plan.
      if ('carePlanId' in openObject && 'timestamp' in openObject) delete (openObject as Json).ehrId
      const openly = await send('POST', `/1/classes/${name}`, openObject)
      assert.deepEqual([openly.status, comparable(openly.body)], [201, comparable(created)])
      const change = createExampleChange(name)
      if (!change) return
      const changed = await put(name, created.objectId, change).expect(200)
      const openChanged = await send('PUT', `/1/classes/${name}/${openly.body.objectId}`, change)
      assert.deepEqual([openChanged.status, openChanged.etag], [200, '"2"'])
      assert.deepEqual(comparable(openChanged.body), comparable(changed.body))
      assert.deepEqual(
        comparable((await send('GET', `/1/classes/${name}/${openly.body.objectId}`)).body),
        comparable((await get(name, created.objectId)).body),
      )
    })

  it('derives nothing from values that match no schema', async () => {
    const high = { systolic: 150, systolicUnit: 'mm[Hg]', diastolic: 95, diastolicUnit: 'mm[Hg]' }
    const { body } = await send('POST', '/1/classes/BloodPressure', high)
    assert.deepEqual([body.condition, body.version], ['grade1', 1])
    const put = (change: object) => send('PUT', `/1/classes/BloodPressure/${body.objectId}`, change)
    const wrong = (await put({ systolic: 'very high', condition: 'fine' })).body
    assert.deepEqual([wrong.systolic, wrong.condition, wrong.version], ['very high', undefined, 2])
    assert.equal((await put({ systolic: 150 })).body.condition, 'grade1')
  })

  it('accepts values of every type in the same field, also where the main service has one', async () => {
    const date = { __type: 'Date', iso: '2026-03-01T08:30:00.000Z' }
    const values = [120, 'high', true, [1, 'two', { three: 3 }], { a: { b: 1 } }, date, null]
    for (const [className, field] of [
      ['BloodPressure', 'systolic'],
      ['CarePlan', 'dueDate'],
      ['Anything', 'value'],
    ])
      for (const value of [...values, ...values.toReversed()]) {
        const { status, body } = await send('POST', `/1/classes/${className}`, { [field ?? '']: value })
        assert.deepEqual([status, body[field ?? ''] ?? null], [201, value], JSON.stringify(body))
        const path = `/1/classes/${className}/${body.objectId}`
        const other = values[(values.indexOf(value) + 1) % values.length]
        const changed = await send('PUT', path, { [field ?? '']: other })
        assert.deepEqual([changed.status, changed.body[field ?? ''] ?? null], [200, other])
        for (const operation of [
          { __op: 'Increment', amount: 1 },
          { __op: 'Add', objects: [1] },
          { __op: 'Remove', objects: [1] },
          { __op: 'Delete' },
        ]) {
          const { status, body } = await send('PUT', path, { [field ?? '']: operation })
          assert.ok(
            status === 200 || (status === 400 && body.code === 111),
            JSON.stringify([value, operation, body]),
          )
        }
      }
  })

  it('reads dates in every form, and obeys If-Match', async () => {
    const dueDate = { __type: 'Date', iso: '2026-03-01T09:30+01:00' }
    const { body, etag } = await send('POST', '/1/classes/CarePlan', { name: 'x', dueDate })
    assert.deepEqual([body.dueDate, etag], [{ __type: 'Date', iso: '2026-03-01T08:30:00.000Z' }, '"1"'])
    const where = encodeURIComponent(JSON.stringify({ dueDate: { $lte: dueDate }, objectId: body.objectId }))
    assert.equal((await send('GET', `/1/classes/CarePlan?where=${where}`)).body.results?.length, 1)
    const put = (version: string) =>
      send('PUT', `/1/classes/CarePlan/${body.objectId}`, { name: version }, { ...keys, 'If-Match': version })
    assert.deepEqual([(await put('"1"')).status, (await put('"1"')).status], [200, 412])
    assert.equal((await put('*')).status, 428)
  })

  it('refuses an ACL, which would make an object unreachable', async () => {
    const { body } = await send('POST', '/1/classes/CarePlan', { name: 'Plan' })
    const path = `/1/classes/CarePlan/${body.objectId}`
    for (const ACL of [{}, { somebody: { read: true, write: true } }, { '*': { read: true } }])
      for (const [method, at] of [
        ['POST', '/1/classes/CarePlan'],
        ['PUT', path],
      ] as const) {
        const refused = await send(method, at, { name: 'Other', ACL })
        assert.deepEqual([refused.status, refused.body.code], [400, 142], JSON.stringify(refused.body))
        assert.match(refused.body.error, /ACL must not be set by clients/)
      }
    assert.equal((await send('GET', path)).body.name, 'Plan')
  })

  it('accepts a user as it was shown, with its ACL, and no other ACL', async () => {
    const signUp = await send('POST', '/1/users', { username: 'eve', password: 'x' })
    const path = `/1/users/${signUp.body.objectId}`
    const session = sessionOf(signUp.body)
    const { body: shown } = await send('GET', path, undefined, session)
    assert.ok(shown.ACL, JSON.stringify(shown))
    const { objectId, createdAt, updatedAt, ...user } = shown
    const answer = await send('PUT', path, { ...user, name: 'Eve' }, session)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const other = { ...user, ACL: { '*': { read: true, write: true } } }
    assert.equal((await send('PUT', path, other, session)).body.code, 142)
    const after = (await send('GET', path, undefined, session)).body
    assert.deepEqual([after.name, after.ACL], ['Eve', shown.ACL])
  })

  it('deletes what a deleted object contains', async () => {
    const place = await newOpenPlace()
    const weight = { ...parentIdsOf('BodyWeight', place), ...exampleObject('BodyWeight') }
    const { objectId } = (await send('POST', '/1/classes/BodyWeight', weight)).body
    await send('DELETE', `/1/classes/CarePlan/${place.carePlanId}`)
    for (const path of [`BodyWeight/${objectId}`, `Goal/${place.goalId}`])
      assert.equal((await send('GET', `/1/classes/${path}`)).status, 404, path)
  })

  it('requires the application id and the key', async () => {
    assert.equal((await send('GET', '/1/classes/Anything', undefined, {})).status, 403)
    const wrong = { ...keys, 'X-Parse-REST-API-Key': 'wrong' }
    assert.equal((await send('POST', '/1/classes/Anything', {}, wrong)).status, 403)
  })

  it('refuses lists that would overload it', async () => {
    for (const query of ['limit=abc', 'limit=-1', `where=${encodeURIComponent('{"$where":"1"}')}`])
      assert.equal((await send('GET', `/1/classes/Anything?${query}`)).status, 400)
  })

  it('documents only its own operations', async () => {
    const { paths } = (await send('GET', '/openapi.json')).body
    const described = Object.keys(paths ?? {})
    for (const path of ['/1/classes/{className}', '/1/users', '/functions/bmi', '/health/ready'])
      assert.ok(described.includes(path), path)
    for (const path of described)
      assert.match(path, /^\/((1|functions|health|docs)\/.*|docs|openapi\.json)?$/, path)
    assert.doesNotMatch(described.join(' '), /CarePlan|_User/)
    const page = await fetch(`${open.url}/?lang=nl`)
    assert.match(await page.text(), /open testomgeving/)
  })

  it('signs up and logs in at once', async () => {
    const account = { username: 'ann', password: 'x' }
    const signUp = await send('POST', '/1/users', account)
    assert.equal(signUp.status, 201, JSON.stringify(signUp.body))
    const subjectId = signUp.body.objectId
    const where = encodeURIComponent(JSON.stringify({ subjectId }))
    const [ehr, ...others] = (await send('GET', `/1/classes/Ehr?where=${where}`)).body.results ?? []
    assert.deepEqual([ehr, others.length], [{ ...(ehr as Json), subjectId, pending: false, version: 1 }, 0])
    const ownUser = (await send('GET', `/1/users/${subjectId}`, undefined, sessionOf(signUp.body))).body
    assert.equal(ownUser.ehrId, (ehr as Json).objectId)
    const login = await send('POST', '/Login', account)
    assert.equal(login.status, 200)
    assert.match(login.body.sessionToken ?? '', /^r:/)
  })

  it('sends mails whose links work', async () => {
    const email = 'bob@example.org'
    await send('POST', '/1/users', { username: 'bob', email, password: 'x' })
    assert.equal((await send('POST', '/1/requestPasswordReset', { email })).status, 200)
    const page = await fetch(await waitFor(() => /"link":"([^"]+)"/.exec(open.output())?.[1]))
    assert.match(await page.text(), /Reset Your Password/)
  })

  it('calculates like the main service', async () => {
    const { status } = await send('POST', '/functions/bmi', {
      weight: 70,
      weightUnit: 'kg',
      height: 175,
      heightUnit: 'cm',
    })
    assert.equal(status, 200)
  })

  it('never shares a database with the main service', async () => {
    assert.match(
      await findStartRefusal({ MONGODB_URI: config.mongodbUri }, true),
      /database of the main service/,
    )
    await stopProcess(open)
    assert.match(await findStartRefusal({ DATA_DIR: open.dataDir }), /database of the open-test service/)
  })
})
